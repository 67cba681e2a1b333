package rest_test

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/server/internal/api/auth"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// reach is what an operation does for the key for another workspace than that of the records.
type reach string

const (
	public  reach = "needs no key"
	service reach = "is the same for all keys"            // it concerns no record and not the account
	creates reach = "creates a record in the workspace"   // of the key
	lists   reach = "lists records of the workspace"      // of the key
	follows reach = "streams events of the workspace"     // of the key
	single  reach = "does not find other records"         // 404
	account reach = "concerns the account: 403 for a key" // for one workspace
)

// operation is an operation of the document, and a request that succeeds.
type operation struct {
	reach  reach
	target string // including the query; the path if empty
	header map[string]string
	body   string
	shows  string // part of the response

	// From the document.
	id, method, path string // id is the method and the path
	status           int
}

// operations returns the operations of the document.
func (s *setup) operations() map[string]operation {
	s.t.Helper()
	document, err := openapi3.NewLoader().LoadFromData(api.Spec)
	s.check(err)
	all := s.requests()
	for path, item := range document.Paths.Map() {
		for method, described := range item.Operations() {
			id := method + " " + path
			c, ok := all[id]
			if !ok {
				s.t.Errorf("server/internal/api/rest/contract_test.go: requests needs a row for %s", id)
				continue
			}
			if isPublic := len(*described.Security) == 0; isPublic != (c.reach == public) {
				s.t.Errorf("%s is public (%t), but its row says that it %s", id, isPublic, c.reach)
			}
			c.id, c.method, c.path, c.target = id, method, path, cmp.Or(c.target, path)
			for status := range described.Responses.Map() {
				if status < "300" {
					c.status, err = strconv.Atoi(status)
					s.check(err)
				}
			}
			all[id] = c
		}
	}
	for id, c := range all {
		if c.id == "" {
			s.t.Errorf("server/internal/api/rest/contract_test.go: the document has no %s", id)
			delete(all, id)
		}
	}
	return all
}

// requests returns what the document does not say of its operations.
func (s *setup) requests() map[string]operation {
	s.t.Helper()
	const createAvatar, createVideo, createLipsync = "/v1/avatars/create_avatar", "/v1/avatars/create_video", "/v1/lipsync/create_lipsync"
	create := func(path, body string) string {
		r := s.record("POST", path, body, nil)
		return r.id()
	}
	waiting, avatar, doomed := create(createAvatar, `{}`), create(createAvatar, `{}`), create(createAvatar, `{}`)
	s.publish(avatar)
	_, err := s.studio.Rendered(s.t.Context(), waiting, studio.Rendering{}, nil)
	s.check(err)
	s.do("GET", "/v1/webhooks/secret", "", nil) // makes the secret that the rotation shows beside the new one
	ofAvatar := fmt.Sprintf(`{"avatar_id":%q}`, avatar)
	video, doomedVideo := create(createVideo, ofAvatar), create(createVideo, ofAvatar)
	lipsync, doomedLipsync := create(createLipsync, `{}`), create(createLipsync, `{}`)
	pair, err := s.studio.Login(s.t.Context(), netip.Addr{}, s.user.Email, "password")
	s.check(err)
	ended, err := s.studio.Login(s.t.Context(), netip.Addr{}, s.user.Email, "password")
	s.check(err)

	const registration = `"webhook_data":{"webhook_url":"https://hooks.example.com/"},"webhook":{"enabled":true}`
	create(createLipsync, `{`+registration+`}`)
	endpoints, err := s.studio.Endpoints(s.t.Context(), s.user.ID, "", 1)
	s.check(err)
	return map[string]operation{
		"POST /users/login": {
			reach: public,
			body:  `{"email":"ada@example.com","password":"password"}`,
			shows: `"access_token":"`,
		},
		"POST /users/refresh": {
			reach: public,
			body:  fmt.Sprintf(`{"refresh_token":%q}`, pair.Refresh),
			shows: `"refresh_token":"`,
		},
		"POST /users/logout": {
			reach: public,
			body:  fmt.Sprintf(`{"refresh_token":%q}`, ended.Refresh),
		},
		"GET /projects/v2": {
			reach:  lists,
			header: map[string]string{"x-workspace-id": s.workspace.ID},
			shows:  fmt.Sprintf(`"project_id":%q,"project_type":"PERSONALIZED","status":"processing"`, video),
		},
		"POST /v1/projects/update": {
			reach: single,
			body:  fmt.Sprintf(`{"project_id":%q,"tags":{"colors":["#2D7FF9"],"names":["new"]},"shared":true}`, lipsync),
			shows: `"tags":{"colors":["#2D7FF9"],"names":["new"]}`,
		},
		"POST /v1/avatars/create_avatar": {
			reach: creates,
			body:  `{"title":"Ada","base_video_url":"https://media.example.com/1","custom":{"kept":true},` + registration + `}`,
			shows: `"status":"processing","title":"Ada"`,
		},
		"POST /v1/avatars/create_video": {
			reach: single,
			body:  fmt.Sprintf(`{"avatar_id":%q,"title":"Hello","text":"Hello.","voice":"de","language":"DE-at","speed":0.5}`, avatar),
			shows: `"speed":0.5,"status":"processing","title":"Hello"`,
		},
		"POST /v1/avatars/submit_consent": {
			reach: single,
			body:  fmt.Sprintf(`{"avatar_id":%q,"granted":false}`, waiting),
			shows: `"status":"consent_failed"`,
		},
		"GET /v1/voices": {
			reach:  service,
			target: "/v1/voices?language=en-AU",
			shows:  `{"data":[{"gender":"male","language":"en-GB","name":"English (Great Britain)","voice_id":"en-gb"},`,
		},
		"GET /v1/avatars/avatar_details": {
			reach:  single,
			target: "/v1/avatars/avatar_details?avatar_id=" + avatar,
			shows:  `"status":"published"`,
		},
		"GET /v1/avatars/inference_details": {
			reach:  single,
			target: "/v1/avatars/inference_details?inference_id=" + video,
			shows:  fmt.Sprintf(`"avatar_id":%q`, avatar),
		},
		"GET /v1/avatars/list": {
			reach:  lists,
			target: "/v1/avatars/list?status=published",
			shows:  fmt.Sprintf(`{"data":[{"avatar_id":%q`, avatar),
		},
		"GET /v1/avatars/list_inferences": {
			reach:  lists,
			target: "/v1/avatars/list_inferences?status=processing&avatar_id=" + avatar,
			shows:  fmt.Sprintf(`"inference_id":%q`, video),
		},
		"GET /v1/lipsync/list": {
			reach:  lists,
			target: "/v1/lipsync/list?limit=100",
			shows:  fmt.Sprintf(`"inference_id":%q`, lipsync),
		},
		"POST /v1/avatars/delete_avatar":  {reach: single, body: fmt.Sprintf(`{"avatar_id":%q}`, doomed)},
		"POST /v1/avatars/delete_video":   {reach: single, body: fmt.Sprintf(`{"inference_id":%q}`, doomedVideo)},
		"POST /v1/lipsync/delete_lipsync": {reach: single, body: fmt.Sprintf(`{"inference_id":%q}`, doomedLipsync)},
		"POST /v1/media": {
			reach: service,
			body:  "a picture", header: map[string]string{"Content-Type": "image/png"},
			shows: `"content_type":"image/png","expires_at":"` + s.clock.Now().Add(7*24*time.Hour).Format(time.RFC3339),
		},
		"GET /v1/events": {
			reach:  lists,
			target: "/v1/events?order=oldest&state=none&event_type=avatar_event&attempts=true&since=2026-01-01T00:00:00Z",
			shows:  `"sequence":1,"state":"none"}`,
		},
		"GET /v1/events/stream": {reach: follows},
		"POST /v1/events/replay": {
			reach: lists,
			body:  `{"since":"2026-01-01T00:00:00Z","event_type":"avatar_event","states":["exhausted","delivered"],"dry_run":true}`,
			shows: `{"dry_run":true,"events":0}`,
		},
		"GET /v1/webhooks/endpoints": {reach: account, shows: fmt.Sprintf(`{"data":[{"endpoint_id":%q,`, endpoints.Endpoints[0].ID)},
		"POST /v1/webhooks/set_endpoint": {
			reach: account,
			body:  fmt.Sprintf(`{"endpoint_id":%q,"state":"paused"}`, endpoints.Endpoints[0].ID),
			shows: `"state":"paused"`,
		},
		"GET /v1/webhooks/secret":         {reach: account, shows: `{"data":[{"secret":"whsec_`},
		"POST /v1/webhooks/rotate_secret": {reach: account, shows: `"},{"expires_at":"2026-01-13T12:00:00Z","secret":"whsec_`},
		"POST /v1/webhooks/test": {
			reach: account,
			body:  `{"webhook_url":"https://hooks.example.com/","event_type":"avatar_event"}`,
			shows: `"delivered":true,"duration_ms":1000,"event":{"data":{"avatar_id":`,
		},
		"POST /v1/lipsync/create_lipsync": {
			reach: creates,
			body:  `{"title":"Bonjour","video_url":"https://media.example.com/1","audio_url":"https://media.example.com/2",` + registration + `}`,
			shows: `"status":"processing","title":"Bonjour"`,
		},
		"GET /v1/lipsync/inference_details": {
			reach:  single,
			target: "/v1/lipsync/inference_details?inference_id=" + lipsync,
			shows:  fmt.Sprintf(`"inference_id":%q`, lipsync),
		},
	}
}

// Each operation has the documented response for its caller only, and refuses who is not authenticated.
func TestOperations_followTheDocument(t *testing.T) {
	inMemory(t, func(s *setup) {
		bob, err := s.studio.IssueAccessToken(studio.AccessToken{
			UserID: studiotest.AddUser(s.t, s.studio, "bob@example.com").ID, SessionID: "session", IssuedAt: s.clock.Now(),
		})
		s.check(err)
		operations := s.operations()
		own := s.token
		for _, c := range operations {
			s.rejectsUnauthenticated(c)
			s.token = bob
			switch {
			case c.reach == single:
				s.wantStatus(c, http.StatusNotFound, "")
			case c.header["x-workspace-id"] != "":
				s.wantStatus(c, http.StatusForbidden, "")
			case c.reach == lists && c.method == http.MethodGet:
				s.wantStatus(c, http.StatusOK, `{"data":[]`)
			}
			s.token = own
		}
		for _, c := range operations {
			if c.reach != follows { // which does not end: see stream_events_test.go
				s.wantStatus(c, c.status, c.shows)
			}
		}
	})
}

// wantStatus sends the request of an operation and checks its status, and that the response contains a text.
func (s *setup) wantStatus(c operation, status int, shows string) {
	s.t.Helper()
	if got, answer := s.do(c.method, c.target, c.body, c.header); got != status || !strings.Contains(answer, shows) {
		s.t.Errorf("%s %s: %d %s, want %d with %s", c.id, c.reach, got, answer, status, shows)
	}
}

// rejectsUnauthenticated checks that an operation that is not public responds with 401 without a token and with an
// expired token.
func (s *setup) rejectsUnauthenticated(c operation) {
	s.t.Helper()
	if c.reach == public {
		status, answer := s.do(c.method, c.target, `{}`, map[string]string{"Authorization": absent})
		if status == http.StatusUnauthorized {
			s.t.Errorf("%s is public and answers %s", c.id, answer)
		}
		return
	}
	expired, err := s.studio.IssueAccessToken(studio.AccessToken{
		UserID: s.user.ID, SessionID: "session", IssuedAt: s.clock.Now().Add(-auth.TokenLifetime - time.Second),
	})
	s.check(err)
	for _, authorization := range []string{absent, "", "Bearer " + expired, "Bearer " + s.token + "x"} {
		header := map[string]string{"Authorization": authorization}
		maps.Copy(header, c.header)
		status, answer := s.do(c.method, c.target, c.body, header)
		if status != http.StatusUnauthorized || !strings.Contains(answer, `"status":401`) {
			s.t.Errorf("%s answers a stranger %d %s", c.id, status, answer)
		}
	}
}

// U+0000 in an id matches no record, and in a title it is rejected. In whatever text of a request, it does not cause a
// failure of the service.
func TestErrors_rejectU0000(t *testing.T) {
	id, text, parameter := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`), regexp.MustCompile(`"[,}\]]`), regexp.MustCompile(`&|$`)
	eachSetup(t, func(s *setup) {
		for _, c := range s.operations() {
			if c.reach == single && c.status == http.StatusOK {
				target, body := id.ReplaceAllString(c.target, "a%00"), id.ReplaceAllString(c.body, `a\u0000`)
				if status, answer := s.do(c.method, target, body, c.header); status != http.StatusNotFound {
					s.t.Errorf("%s %s: %d %s, want 404", c.id, body, status, answer)
				}
			}
			survives := func(target, body string) {
				if status, answer := s.do(c.method, target, body, c.header); status >= http.StatusInternalServerError {
					s.t.Errorf("%s %s: %d %s", target, body, status, answer)
				}
			}
			if strings.Contains(c.target, "?") {
				survives(parameter.ReplaceAllString(c.target, "%00$0"), c.body)
			}
			for _, end := range text.FindAllStringIndex(c.body, -1) {
				survives(c.target, c.body[:end[0]]+`\u0000`+c.body[end[0]:])
			}
		}
		for _, c := range []struct {
			target, body string
			status       int
		}{
			{"/users/login", `{"email":"ada\u0000@example.com","password":"password"}`, 401},
			{"/v1/lipsync/create_lipsync", `{"title":"a\u0000b"}`, 422},
			{"/v1/lipsync/create_lipsync", `{"script":"a\u0000b"}`, 200},
		} {
			if status, answer := s.do("POST", c.target, c.body, nil); status != c.status {
				s.t.Errorf("POST %s %s: %d %s, want %d", c.target, c.body, status, answer, c.status)
			}
		}
	})
}
