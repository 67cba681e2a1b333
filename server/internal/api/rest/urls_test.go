package rest_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/avatarstudio/avatarstudio/api"
)

// Each member of a creation that is the URL of a file is kept in the form in which it is fetched. What has no such form
// is refused by its name. Package weburl holds the form.
func TestCreations_keepURLsInTheFormOfTheStandard(t *testing.T) {
	inMemory(t, func(s *setup) {
		document, err := openapi3.NewLoader().LoadFromData(api.Spec)
		s.check(err)
		avatar := s.record(http.MethodPost, "/v1/avatars/create_avatar", `{}`, nil).AvatarID
		s.publish(avatar)
		found := 0
		for path, item := range document.Paths.Map() {
			if item.Post == nil || item.Post.RequestBody == nil {
				continue
			}
			content := item.Post.RequestBody.Value.Content["application/json"]
			if content == nil {
				continue
			}
			for name := range content.Schema.Value.Properties {
				if !strings.HasSuffix(name, "_url") || name == "webhook_url" { // the sender checks webhook URLs
					continue
				}
				found++
				body := map[string]any{"avatar_id": avatar}
				send := func(url string) (status int, answer string) {
					body[name] = url
					text, err := json.Marshal(body)
					s.check(err)
					return s.do(http.MethodPost, path, string(text), nil)
				}
				_, answer := send("https://MEDIA.example:443/a b")
				var created record
				s.check(json.Unmarshal([]byte(answer), &created))
				subject, err := s.store.Subject(t.Context(), cmp.Or(created.InferenceID, created.AvatarID))
				s.check(err)
				if kept := `"` + name + `":"https://media.example/a%20b"`; !strings.Contains(string(subject.Request), kept) {
					t.Errorf("%s keeps %s, want %s", path, subject.Request, kept)
				}
				if status, answer := send("https://canary@127.1/"); status != http.StatusBadRequest || !strings.Contains(answer, `"pointer":"/`+name+`"`) || strings.Contains(answer, "canary") {
					t.Errorf("%s: %s: %d %s", path, name, status, answer)
				}
			}
		}
		if found < 4 {
			t.Errorf("the document has %d such members", found)
		}
	})
}
