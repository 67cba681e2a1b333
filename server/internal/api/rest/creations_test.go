package rest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// A creation is kept with the members that the document does not name. Each member that is the URL of a file is kept in
// the form in which it is fetched, and refused by its name if it has no such form. Package weburl holds the form.
func TestCreations_areKept(t *testing.T) {
	inMemory(t, func(s *setup) {
		found := 0
		for _, kind := range s.kinds() {
			body := s.document().Paths.Value(kind.create).Post.RequestBody.Value.Content["application/json"].Schema.Value
			for name := range body.Properties {
				if !strings.HasSuffix(name, "_url") {
					continue
				}
				found++
				const unknown = `"options":{"b":1,"a":[true,null]},"seed":12345678901234567890`
				begin := strings.TrimSuffix(kind.body, "}") + `,` + unknown + `,"` + name + `":"`
				created := s.record(http.MethodPost, kind.create, begin+`https://MEDIA.example:443/a b"}`, nil)
				subject, err := s.store.Subject(t.Context(), created.id())
				s.check(err)
				for _, want := range []string{unknown, `"` + name + `":"https://media.example/a%20b"`} {
					if !strings.Contains(string(subject.Request), want) {
						t.Errorf("%s keeps %s, want %s", kind.create, subject.Request, want)
					}
				}
				if status, answer := s.do(http.MethodPost, kind.create, begin+`https://canary@127.1/"}`, nil); status != http.StatusBadRequest ||
					!strings.Contains(answer, `"pointer":"/`+name+`"`) || strings.Contains(answer, "canary") {
					t.Errorf("%s: %s: %d %s", kind.create, name, status, answer)
				}
			}
		}
		if found < 4 {
			t.Errorf("the document has %d such members", found)
		}
	})
}

// A webhook is registered only if it is enabled by true and has a URL. An absent member is neither.
func TestCreate_registersEnabledWebhooksOnly(t *testing.T) {
	inMemory(t, func(s *setup) {
		const webhook = `{"webhook_data":{"webhook_url":"https://hooks.example.com/"}`
		for body, want := range map[string]string{
			webhook + `,"webhook":{"enabled":true}}`:                            "https://hooks.example.com/",
			webhook + `,"webhook":{"enabled":false}}`:                           "",
			webhook + `,"webhook":{"enabled":null}}`:                            "",
			webhook + `,"webhook":null}`:                                        "",
			webhook + `}`:                                                       "",
			`{"webhook_data":{"webhook_url":null},"webhook":{"enabled":false}}`: "",
			`{"webhook_data":null}`:                                             "",
		} {
			for kind, path := range map[studio.Kind]string{studio.Avatar: "/v1/avatars/create_avatar", studio.Lipsync: "/v1/lipsync/create_lipsync"} {
				subject, err := s.studio.Find(s.t.Context(), s.user.ID, kind, s.record("POST", path, body, nil).id())
				s.check(err)
				if subject.WebhookURL != want {
					s.t.Errorf("%s %s registers %q, want %q", path, body, subject.WebhookURL, want)
				}
			}
		}
	})
}
