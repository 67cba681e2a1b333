package rest_test

import (
	"net/http"
	"strings"
	"testing"
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
