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

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/api/ratelimit"
	"github.com/avatarstudio/avatarstudio/server/internal/api/rest"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// codes maps the error codes of the document to their statuses.
var codes = sync.OnceValues(func() (map[string]string, error) {
	document, err := document()
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
	s.codes[*problem.Code] = true
	return *problem.Code
}

// Each error has the documented code, which implies its status, and the service uses all codes that the document lists.
func TestErrors_haveTheDocumentedStatus(t *testing.T) {
	eachSetup(t, func(s *setup) {
		_, avatar, _ := strings.Cut(s.operations()["GET /v1/avatars/avatar_details"].target, "=")
		waiting := s.record("POST", "/v1/avatars/create_avatar", `{}`, nil).AvatarID
		const (
			lipsync = "/v1/lipsync/create_lipsync"
			update  = "/v1/projects/update"
			noLogin = `{"email":"ada@example.com","password":"guess"}`
			sample  = `{"webhook_url":"https://hooks.example.com/","event_type":"avatar_event"}`
		)
		header := func(name, value string) map[string]string { return map[string]string{name: value} }
		webhook := func(url string) string {
			return `{"webhook":{"enabled":true},"webhook_data":{"webhook_url":"` + url + `"}}`
		}
		apiKey := func(key studio.APIKey) map[string]string {
			key.UserID, key.Name = s.user.ID, "batch"
			_, secret, err := s.studio.AddAPIKey(s.t.Context(), key)
			s.check(err)
			return header("Authorization", "Bearer "+secret)
		}
		elsewhere := apiKey(studio.APIKey{WorkspaceID: s.workspace.ID})
		elsewhere["x-workspace-id"] = "elsewhere"
		key, free := header("Idempotency-Key", "key"), header("Idempotency-Key", "free")
		_, err := s.studio.ImportProjects(s.t.Context(), []studio.Project{{ID: "imported", WorkspaceID: s.workspace.ID, UserID: s.user.ID, Document: `{}`}})
		s.check(err)
		others, err := s.studio.AddWorkspace(s.t.Context(), "", "Others")
		s.check(err)
		for _, c := range []struct {
			code, method, target, body string // code "" is a success
			header                     map[string]string
			shows                      string
		}{
			{"bad_request", "POST", "/users/login", `{}`, nil, `"pointer":"/email"`},
			{"bad_request", "POST", lipsync, `{}`, header("Idempotency-Key", ""), "header:Idempotency-Key"},
			{"bad_request", "POST", lipsync, `{}`, header("Idempotency-Key", strings.Repeat("k", 256)), "header:Idempotency-Key"},
			{"bad_request", "POST", lipsync, `{}`, header("Idempotency-Key", "a b"), "header:Idempotency-Key"},
			{"bad_request", "POST", lipsync, `{}`, header("Idempotency-Key", "é"), "header:Idempotency-Key"},
			{"", "POST", lipsync, `{}`, header("Idempotency-Key", strings.Repeat("!~", 127)), ""},
			{"bad_request", "POST", "/v1/media", "", header("Content-Type", "video/mp4"), "the body is empty"},
			{"request_entity_too_large", "POST", "/v1/media", strings.Repeat("a", 1<<20+1), header("Content-Type", "video/mp4"), ""},
			{"unsupported_media_type", "POST", "/v1/media", "text", header("Content-Type", "text/plain"), ""},
			{"cursor_invalid", "GET", "/v1/lipsync/list?cursor=guess", "", nil, `"pointer":"query:cursor"`},
			{"unauthorized", "GET", "/v1/lipsync/list", "", header("Authorization", absent), ""},
			{"wrong_credentials", "POST", "/users/login", noLogin, nil, "The credentials are wrong."},
			{"wrong_credentials", "POST", "/users/refresh", `{"refresh_token":"guess"}`, nil, "The credentials are wrong."},
			{"not_a_member", "GET", "/projects/v2", "", header("x-workspace-id", "elsewhere"), "You are not a member of this workspace."},
			{"not_a_member", "GET", "/projects/v2", "", header("x-workspace-id", others.ID), "You are not a member of this workspace."},
			{"api_key_read_only", "POST", lipsync, `{}`, apiKey(studio.APIKey{ReadOnly: true}), ""},
			{"api_key_workspace", "GET", "/projects/v2", "", elsewhere, ""},
			{"not_found", "POST", update, `{"project_id":"a"}`, nil, "There is no such record."},
			{"project_imported", "POST", update, `{"project_id":"imported"}`, nil, "Imported projects"},
			{"project_without_video", "POST", update, `{"project_id":"` + avatar + `","shared":true}`, nil, "no video to share"},
			{"thumbnail_invalid", "POST", update, `{"project_id":"` + avatar + `","custom_thumbnail":"a"}`, nil, `"pointer":"/custom_thumbnail"`},
			{"title_invalid", "POST", update, `{"project_id":"` + avatar + `","title":"a\u0000"}`, nil, `"pointer":"/title"`},
			{"bad_request", "POST", update, `{"project_id":"a","tags":{"names":["` + strings.Repeat("x", 65) + `"]}}`, nil, `"pointer":"/tags/names/0"`},
			{"not_found", "GET", "/nowhere", "", nil, ""},
			{"not_found", "GET", "/v1/avatars/avatar_details?avatar_id=a", "", nil, "There is no such record."},
			{"not_found", "GET", "/v1/avatars/inference_details?inference_id=" + avatar, "", nil, "There is no such record."},
			{"not_found", "POST", "/v1/avatars/submit_consent", `{"avatar_id":"` + s.record("POST", lipsync, `{}`, nil).id() + `","granted":true}`, nil, ""},
			{"method_not_allowed", "DELETE", "/users/login", "", nil, ""},
			{"avatar_final", "POST", "/v1/avatars/submit_consent", `{"avatar_id":"` + avatar + `","granted":true}`, nil, "The avatar is in a final state."},
			{"avatar_not_published", "POST", "/v1/avatars/create_video", `{"avatar_id":"` + waiting + `"}`, nil, "The avatar is not published."},
			{"position_unknown", "GET", "/v1/events/stream", "", header("Last-Event-ID", "guess"), `"pointer":"header:Last-Event-ID"`},
			{"range_invalid", "GET", "/v1/events?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z", "", nil, `"pointer":"query:since"`},
			{"replay_empty", "POST", "/v1/events/replay", `{}`, nil, `"pointer":"/event_ids"`},
			{"title_invalid", "POST", lipsync, `{"title":"a\u0000"}`, nil, ""},
			{"text_not_speakable", "POST", "/v1/avatars/create_video", `{"avatar_id":"` + avatar + `","text":"… 🙂!"}`, nil, `"pointer":"/text"`},
			{"unknown_voice", "POST", "/v1/avatars/create_video", `{"avatar_id":"` + avatar + `","voice":"EN-GB+anny"}`, nil, `the nearest is en-gb+Annie"`},
			{"unknown_language", "POST", "/v1/avatars/create_video", `{"avatar_id":"` + avatar + `","language":"jo-JP"}`, nil, `the nearest is ja"`},
			{"webhook_url_invalid", "POST", lipsync, webhook("ftp://hooks.example.com/"), nil, ""},
			{"webhook_url_not_public", "POST", "/v1/avatars/create_avatar", webhook("https://refused.example/?key=hunter2"), nil, "must not be refused"},
			{"", "POST", "/v1/avatars/create_avatar", `{"title":null,"base_video_url":null,"webhook_data":null,"webhook":null}`, nil, "processing"},
			{"", "POST", lipsync, `{"title":"one"}`, key, `"title":"one"`},
			{"", "POST", lipsync, ` {"title":"one"}`, key, `"title":"one"`},
			{"unauthorized", "POST", lipsync, `{"title":"one"}`, map[string]string{"Idempotency-Key": "key", "Authorization": "Bearer guess"}, ""},
			{"idempotency_key_reused", "POST", lipsync, `{"title":"two"}`, key, `"pointer":"header:Idempotency-Key"`},
			{"webhook_url_missing", "POST", lipsync, `{"webhook":{"enabled":true}}`, free, `"pointer":"/webhook_data/webhook_url"`},
			{"bad_request", "POST", lipsync, `{"title":7}`, free, ""},
			{"not_found", "POST", "/v1/avatars/create_video", `{"avatar_id":"unknown"}`, free, ""},
			{"", "POST", lipsync, `{"title":"one"}`, free, ""}, // errors are not kept
			{"idempotency_key_reused", "POST", "/v1/avatars/create_avatar", `{"title":"one"}`, free, ""},
		} {
			s.wantCode(c.code, c.shows, c.method, c.target, c.body, c.header)
		}
		for range 10 {
			s.do("POST", "/users/login", noLogin, nil)
			s.do("POST", "/v1/webhooks/rotate_secret", "", nil)
			s.do("POST", "/v1/webhooks/test", sample, nil)
		}
		s.wantCode("too_many_login_tries", "", "POST", "/users/login", `{"email":"ada@example.com","password":"password"}`, nil)
		s.wantCode("too_many_webhook_secrets", "", "POST", "/v1/webhooks/rotate_secret", "", nil)
		s.wantCode("too_many_webhook_tests", "", "POST", "/v1/webhooks/test", sample, nil)

		s.serve(rest.New(s.studio), server.Config{Admit: ratelimit.New(1).Admit})
		for range 100 { // so that one of them is not a second later: a repeated request counts, too
			if _, answer := s.do("POST", lipsync, `{"title":"one"}`, key); strings.Contains(answer, "too_many_requests") {
				break
			}
		}
		s.wantCode("too_many_requests", "", "POST", lipsync, `{"title":"one"}`, key)
		s.serve(server.Unimplemented{}, server.Config{})
		s.wantCode("not_implemented", "", "POST", "/v1/webhooks/rotate_secret", "", nil)
		for _, c := range []struct {
			err   error
			code  string
			pause bool
		}{
			{errors.New("disk on fire"), "internal_server_error", false},
			{studio.ErrBusy, "service_busy", true},
			{studio.ErrUnavailable, "service_busy", true},
			{studio.ErrKeyInUse, "idempotency_key_in_use", false},
			{studio.ErrTooMuchMedia, "too_much_media", false},
			{studio.ErrCreditsExhausted, "credits_exhausted", false},
			{studio.ErrTooManyTries.After(time.Minute), "too_many_login_tries", true},
			{studio.ErrTooManyReplays.After(time.Minute), "too_many_replays", true},
			{studio.ErrTooManyCreations.After(time.Second), "too_many_creations", true},
			{studio.ErrTooManyStreams.After(time.Second), "too_many_streams", true},
		} {
			s.serve(failing{err: c.err}, server.Config{})
			request := httptest.NewRequest("POST", "/users/login", strings.NewReader(`{"email":"a","password":"b"}`))
			request.Header.Set("Content-Type", "application/json")
			response := httptest.NewRecorder()
			s.handler.ServeHTTP(response, request)
			if code := s.checkCode(response.Body.Bytes()); code != c.code || (response.Header().Get("Retry-After") != "") != c.pause {
				s.t.Errorf("%v is answered with %s %v, want %s", c.err, code, response.Header(), c.code)
			}
		}

		listed, err := codes()
		s.check(err)
		for code := range listed {
			if !s.codes[code] {
				s.t.Errorf("nothing answers the code %s", code)
			}
		}
	})
}

// wantCode sends a request and checks its code, and that the response contains a text and nothing of a webhook query.
func (s *setup) wantCode(code, shows, method, target, body string, header map[string]string) {
	s.t.Helper()
	status, answer := s.do(method, target, body, header)
	wanted := `"code":"` + code + `"`
	if code == "" {
		wanted = ""
	}
	if (code == "") != (status == http.StatusOK) || !strings.Contains(answer, wanted) || !strings.Contains(answer, shows) || strings.Contains(answer, "hunter2") {
		s.t.Errorf("%s %s %s: %d %s, want %s with %s", method, target, body, status, answer, code, shows)
	}
}

// serve replaces the handler.
func (s *setup) serve(api gen.StrictServerInterface, cfg server.Config) {
	s.t.Helper()
	cfg.MapError, cfg.Authenticator = rest.MapError, s.tokens
	var err error
	s.handler, err = server.New(api, cfg)
	s.check(err)
}

// failing fails all logins with an error.
type failing struct {
	server.Unimplemented
	err error
}

func (f failing) Login(context.Context, gen.LoginRequestObject) (gen.LoginResponseObject, error) {
	return nil, f.err
}
