package client_test

import (
	"cmp"
	"net/http"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/client"
)

// Every request, also those for a token, has the User-Agent, and the path of BaseURL before that of the document.
func TestConfig_isOfEveryRequest(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"http://localhost/studio/v9", "http://localhost/studio/v9/", "http://localhost/studio/x/../v9"} {
		s := newService()
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			http.StripPrefix("/studio/v9", http.HandlerFunc(s.answer)).ServeHTTP(w, r)
			return true
		}
		agent := map[bool]string{true: "mine/1", false: ""}[strings.HasSuffix(base, "/")]
		mustGet(t, s.direct(t, func(c *client.Config) { c.BaseURL, c.UserAgent = base, agent }))
		for _, request := range s.seen {
			if got := request.header.Get("User-Agent"); got != cmp.Or(agent, "avatarstudio-go") || len(s.seen) != 2 {
				t.Errorf("%s: %q", request.operation, got)
			}
		}
		if s.count("GET /studio/v9/v1/avatars/avatar_details") != 1 {
			t.Errorf("%s: %+v", base, s.seen)
		}
	}
}

func TestNew_validatesConfig(t *testing.T) {
	t.Parallel()
	const canary = "canary-5150"
	for name, test := range map[string]struct {
		config client.Config
		field  string // empty if config is valid
	}{
		"https":                      {client.Config{BaseURL: "https://studio.example.com"}, ""},
		"localhost":                  {client.Config{BaseURL: "http://localhost:8080"}, ""},
		"127.0.0.2":                  {client.Config{BaseURL: "http://127.0.0.2:8080"}, ""},
		"::1":                        {client.Config{BaseURL: "http://[::1]:8080"}, ""},
		"AllowHTTP":                  {client.Config{BaseURL: "http://studio.example.com", AllowHTTP: true}, ""},
		"password":                   {client.Config{BaseURL: "https://h", Email: "a", Password: "b"}, ""},
		"token":                      {client.Config{BaseURL: "https://h", Token: "t"}, ""},
		"no BaseURL":                 {client.Config{}, "BaseURL"},
		"no scheme":                  {client.Config{BaseURL: canary + ".example.com"}, "BaseURL"},
		"no host":                    {client.Config{BaseURL: "https://:443/" + canary}, "BaseURL"},
		"other scheme":               {client.Config{BaseURL: "ftp://" + canary}, "BaseURL"},
		"malformed":                  {client.Config{BaseURL: "https://h/%zz" + canary}, "BaseURL"},
		"user information":           {client.Config{BaseURL: "https://ada:" + canary + "@h"}, "BaseURL"},
		"query":                      {client.Config{BaseURL: "https://h?key=" + canary}, "BaseURL"},
		"fragment":                   {client.Config{BaseURL: "https://h#" + canary}, "BaseURL"},
		"http":                       {client.Config{BaseURL: "http://" + canary}, "BaseURL"},
		"too large a port":           {client.Config{BaseURL: "https://h:65536"}, "BaseURL"},
		"http, like localhost":       {client.Config{BaseURL: "http://localhost.example.com"}, "BaseURL"},
		"token and password":         {client.Config{BaseURL: "https://h", Email: "a", Password: canary, Token: canary}, "Token"},
		"no email":                   {client.Config{BaseURL: "https://h", Password: canary}, "Email"},
		"no password":                {client.Config{BaseURL: "https://h", Email: canary}, "Password"},
		"token with its scheme":      {client.Config{BaseURL: "https://h", Token: "Bearer " + canary}, "Token"},
		"token with its scheme, too": {client.Config{BaseURL: "https://h", Token: " bearer  " + canary}, "Token"},
		"token of two lines":         {client.Config{BaseURL: "https://h", Token: canary + "\n"}, "Token"},
		"workspace of two":           {client.Config{BaseURL: "https://h", Workspace: canary + "\r\nX: y"}, "Workspace"},
		"source":                     {client.Config{BaseURL: "https://h", TokenSource: &source{}}, ""},
		"source and token":           {client.Config{BaseURL: "https://h", TokenSource: &source{}, Token: canary}, "TokenSource"},
		"source and password":        {client.Config{BaseURL: "https://h", TokenSource: &source{}, Email: canary, Password: canary}, "TokenSource"},
		"negative timeout":           {client.Config{BaseURL: "https://h", Timeout: -1}, "Timeout"},
		"negative attempts":          {client.Config{BaseURL: "https://h", Retry: client.Retry{Attempts: -1}}, "Retry.Attempts"},
		"negative base delay":        {client.Config{BaseURL: "https://h", Retry: client.Retry{BaseDelay: -1}}, "Retry.BaseDelay"},
		"negative delay":             {client.Config{BaseURL: "https://h", Retry: client.Retry{MaxDelay: -1}}, "Retry.MaxDelay"},
		"user agent with a NUL":      {client.Config{BaseURL: "https://h", UserAgent: canary + "\x00"}, "UserAgent"},
	} {
		_, err := client.New(test.config)
		valid := err == nil && test.field == ""
		if !valid && (err == nil || !strings.HasPrefix(err.Error(), "client: "+test.field+": ") || strings.Contains(err.Error(), canary)) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
