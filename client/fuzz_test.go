package client_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/avatarstudio/avatarstudio/client"
)

// Every response, even to a login, results in a value or in an error of one line.
func FuzzAnswer(f *testing.F) {
	f.Add("access-1", 200, "application/json", "", `{"avatar_id":"a"}`)
	f.Add("a.eyJleHAiOjF9.c", 503, "application/problem+json", "7", `{"detail":"a\nb","errors":[{"pointer":"/a"}]}`)
	f.Add("a.e30.c", 429, "text/html", "Sat, 01 Jan 2000 00:01:30 GMT", `<p>`)
	f.Add("", 301, "", "-1", `null`)
	f.Fuzz(func(t *testing.T, token string, status int, contentType, retryAfter, body string) {
		c := newClient(t, once, func(c *client.Config) {
			c.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.URL.Path == "/users/login" {
					pair, _ := json.Marshal(map[string]string{"access_token": token})
					return respond(http.StatusOK, http.Header{"Content-Type": {"application/json"}}, string(pair)), nil
				}
				return respond(status, http.Header{"Content-Type": {contentType}, "Retry-After": {retryAfter}, "X-Request-Id": {retryAfter}}, body), nil
			})
		})
		start := time.Now()
		avatar, err := c.GetAvatar(t.Context(), avatarID)
		if (err == nil) != (avatar != nil) || time.Since(start) > 5*time.Second {
			t.Fatalf("avatar %+v, error %v", avatar, err)
		}
		if err == nil {
			return
		}
		if strings.ContainsFunc(err.Error(), unicode.IsControl) {
			t.Errorf("error %q", err)
		}
		if answer, ok := errors.AsType[*client.Error](err); ok && answer.RetryAfter < 0 {
			t.Errorf("RetryAfter %v", answer.RetryAfter)
		}
	})
}
