package rest_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// Each member of a creation that is the URL of a file is kept in the form in which it is fetched. What has no such form
// is refused by its name.
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
				body := map[string]any{}
				if slices.Contains(content.Schema.Value.Required, "avatar_id") {
					body["avatar_id"] = avatar
				}
				keep := func(raw, want string) {
					body[name] = raw
					text, err := json.Marshal(body)
					s.check(err)
					created := s.record(http.MethodPost, path, string(text), nil)
					subject, err := s.store.Subject(t.Context(), cmp.Or(created.InferenceID, created.AvatarID))
					s.check(err)
					var kept map[string]any
					s.check(json.Unmarshal(subject.Request, &kept))
					if kept[name] != want {
						t.Errorf("%s: %s %q is kept as %v", path, name, raw, kept[name])
					}
				}
				for raw, want := range harness.URLs() {
					keep("https://MEDIA.example:443"+raw, "https://media.example"+want)
				}
				refused := []string{"", "no url", "/file", "ftp://media.example/", "https://media.example:99999/", "https://media.example/\n/"}
				for host, want := range harness.Hosts() {
					if raw := "http://" + host + ":8106/"; want == "" {
						refused = append(refused, raw)
					} else {
						keep(raw, "http://"+want+":8106/")
					}
				}
				for _, wrong := range refused {
					body[name] = wrong
					text, err := json.Marshal(body)
					s.check(err)
					if status, answer := s.do(http.MethodPost, path, string(text), nil); status != http.StatusBadRequest || !strings.Contains(answer, `"pointer":"/`+name+`"`) || strings.Contains(answer, "canary") {
						t.Errorf("%s: %s %q: %d %s", path, name, wrong, status, answer)
					}
				}
			}
		}
		if found < 4 {
			t.Errorf("the document has %d such members", found)
		}
	})
}
