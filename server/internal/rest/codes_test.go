package rest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/ratelimit"
	"github.com/avatarstudio/avatarstudio/server/internal/rest"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// codes maps the error codes of the document to their statuses.
var codes = sync.OnceValues(func() (map[string]string, error) {
	document, err := openapi3.NewLoader().LoadFromData(api.Spec)
	if err != nil {
		return nil, err
	}
	listed := map[string]string{}
	text := document.Components.Schemas["Problem"].Value.Properties["code"].Value.Description
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (\\d+) \\| [^|]+ \\| [^|]+ \\|$").FindAllStringSubmatch(text, -1) {
		listed[row[1]] = row[2]
	}
	return listed, nil
})

// checkCode checks that the document lists the code of a problem with its status.
func (s *setup) checkCode(content []byte) (code string) {
	s.t.Helper()
	listed, err := codes()
	s.check(err)
	var problem gen.Problem
	s.check(json.Unmarshal(content, &problem))
	if problem.Code == nil || listed[*problem.Code] != fmt.Sprint(problem.Status) {
		s.t.Fatalf("the document does not list the code of %s", content)
	}
	return *problem.Code
}

// failing fails all logins with an error.
type failing struct {
	server.Unimplemented
	err error
}

func (f failing) Login(context.Context, gen.LoginRequestObject) (gen.LoginResponseObject, error) {
	return nil, f.err
}

// The service uses all error codes that the document lists.
func TestCodes_areUsed(t *testing.T) {
	eachSetup(t, func(s *setup) {
		cases := s.operations()
		seen := map[string]bool{}
		see := func(method, target, body string, header map[string]string) {
			s.t.Helper()
			_, answer := s.do(method, target, body, header)
			seen[s.checkCode([]byte(answer))] = true
		}
		login := func(err error) {
			handler, newErr := server.New(failing{err: err}, server.Config{MapError: rest.MapError, Authenticator: server.AuthenticatorFunc(s.tokens.Authenticate)})
			s.check(newErr)
			request := httptest.NewRequest(http.MethodPost, "/users/login", strings.NewReader(`{"email":"a","password":"b"}`))
			request.Header.Set("Content-Type", "application/json")
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			seen[s.checkCode(answer.Body.Bytes())] = true
		}
		avatar := cases["GET /v1/avatars/list_inferences"].target
		published := avatar[strings.LastIndexByte(avatar, '=')+1:]
		waiting, err := s.studio.CreateAvatar(s.t.Context(), studio.Creation{UserID: s.user.ID, Request: []byte(`{}`)})
		s.check(err)
		const lipsync = "/v1/lipsync/create_lipsync"
		webhook := func(url string) string {
			return `{"webhook":{"enabled":true},"webhook_data":{"webhook_url":"` + url + `"}}`
		}

		see("POST", "/users/login", `{}`, nil)
		see("GET", "/v1/lipsync/list?cursor=guess", "", nil)
		see("GET", "/v1/lipsync/list", "", map[string]string{"Authorization": absent})
		see("POST", "/users/login", `{"email":"ada@example.com","password":"guess"}`, nil)
		see("GET", "/projects/v2", "", map[string]string{"x-workspace-id": "elsewhere"})
		see("GET", "/nowhere", "", nil)
		see("DELETE", "/users/login", "", nil)
		see("POST", "/v1/avatars/submit_consent", `{"avatar_id":"`+published+`","granted":true}`, nil)
		see("POST", "/v1/avatars/create_video", `{"avatar_id":"`+waiting.ID+`"}`, nil)
		see("POST", "/users/login", `"`+strings.Repeat("x", 1<<20)+`"`, nil)
		see("POST", "/users/login", `{}`, map[string]string{"Content-Type": "text/plain"})
		see("POST", lipsync, `{"title":"a\u0000"}`, nil)
		see("POST", lipsync, webhook(""), nil)
		see("POST", lipsync, webhook("ftp://hooks.example.com/"), nil)
		see("POST", lipsync, webhook("https://refused.example/"), nil)

		key := map[string]string{"Idempotency-Key": "key"}
		_, answer := s.do("POST", lipsync, `{"title":"one"}`, key)
		var created gen.Lipsync
		s.check(json.Unmarshal([]byte(answer), &created))
		see("POST", lipsync, `{"title":"two"}`, key)
		s.check(s.studio.Delete(s.t.Context(), s.user.ID, studio.Lipsync, created.InferenceID))
		see("POST", lipsync, `{"title":"one"}`, key)
		login(studio.ErrKeyInUse)

		for range 10 {
			s.do("POST", "/users/login", `{"email":"eve@example.com","password":"guess"}`, nil)
			s.do("POST", "/v1/webhooks/rotate_secret", "", nil)
			s.do("POST", "/v1/webhooks/test", `{"webhook_url":"https://hooks.example.com/","event_type":"avatar_event"}`, nil)
		}
		see("POST", "/users/login", `{"email":"eve@example.com","password":"guess"}`, nil)
		see("POST", "/v1/webhooks/rotate_secret", "", nil)
		see("POST", "/v1/webhooks/test", `{"webhook_url":"https://hooks.example.com/","event_type":"avatar_event"}`, nil)
		s.handler, err = server.New(server.Unimplemented{}, server.Config{
			Authenticator: server.AuthenticatorFunc(s.tokens.Authenticate), Admit: ratelimit.New(ratelimit.Config{Reads: 1}).Admit,
		})
		s.check(err)
		see("GET", "/v1/lipsync/list", "", nil)
		see("GET", "/v1/lipsync/list", "", nil)
		login(errors.New("disk on fire"))
		login(studio.ErrBusy)
		login(&server.Error{Status: http.StatusNotImplemented})
		login(studio.ErrTooMuchMedia)
		login(&studio.LimitError{Limit: studio.ErrTooManyCreations, RetryAfter: time.Second})

		listed, err := codes()
		s.check(err)
		for code := range listed {
			if !seen[code] {
				s.t.Errorf("nothing answers the code %s", code)
			}
		}
	})
}

// The document lists all keywords that are not of JSON Schema, and all locations of violations.
func TestViolation_isDocumented(t *testing.T) {
	t.Parallel()
	document, err := openapi3.NewLoader().LoadFromData(api.Spec)
	if err != nil {
		t.Fatal(err)
	}
	violation := document.Components.Schemas["Violation"].Value.Properties
	for keyword := range strings.FieldsSeq("duplicate case repeated escape style content contentType cursor webhook idempotency text") {
		if !strings.Contains(strings.Join(strings.Fields(violation["keyword"].Value.Description), " "), "`"+keyword+"`: ") {
			t.Errorf("the keyword %s is missing", keyword)
		}
	}
	for _, place := range []string{"path:NAME", "query:NAME", "header:NAME", "cookie:NAME"} {
		if !strings.Contains(violation["pointer"].Value.Description, place) {
			t.Errorf("the place %s is missing", place)
		}
	}
}
