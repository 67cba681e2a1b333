package rest_test

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/api/auth"
	"github.com/avatarstudio/avatarstudio/server/internal/memstore"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// operation is a request that succeeds, and requests that are invalid by the document.
type operation struct {
	target string // including the query
	header map[string]string
	body   string
	status int      // 0 means 200
	shows  string   // part of the response
	bad    []string // bodies, or targets for operations without a body
}

// operations returns a case for each operation of the document.
func (s *setup) operations() map[string]operation {
	s.t.Helper()
	const createAvatar, createVideo, createLipsync = "/v1/avatars/create_avatar", "/v1/avatars/create_video", "/v1/lipsync/create_lipsync"
	create := func(path, body string) string {
		r := s.record("POST", path, body, nil)
		return cmp.Or(r.InferenceID, r.AvatarID)
	}
	waiting, avatar, doomed := create(createAvatar, `{}`), create(createAvatar, `{}`), create(createAvatar, `{}`)
	s.publish(avatar)
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
	wrongRegistrations := []string{
		`{"webhook_data":[]}`, `{"webhook_data":{"webhook_url":7}}`, `{"webhook":{"enabled":"true"}}`, `{"webhook":true}`,
	}
	return map[string]operation{
		"POST /users/login": {
			body:  `{"email":"ada@example.com","password":"password"}`,
			shows: `"access_token":"`,
			bad:   []string{`{}`, `{"email":"a"}`, `{"password":"b"}`, `{"email":1,"password":"b"}`, `{"email":"a","password":null}`, `[]`, `null`},
		},
		"POST /users/refresh": {
			body:  fmt.Sprintf(`{"refresh_token":%q}`, pair.Refresh),
			shows: `"refresh_token":"`,
			bad:   []string{`{}`, `{"refresh_token":7}`, `{"refresh_token":""}`},
		},
		"POST /users/logout": {
			body: fmt.Sprintf(`{"refresh_token":%q}`, ended.Refresh), status: http.StatusNoContent,
			bad: []string{`{}`, `{"refresh_token":7}`, `{"refresh_token":""}`},
		},
		"GET /projects/v2": {
			header: map[string]string{"x-workspace-id": s.workspace.ID},
			shows:  fmt.Sprintf(`"project_id":%q,"project_type":"PERSONALIZED","status":"processing"`, video),
			bad:    []string{"/projects/v2"}, // without the header
		},
		"POST /v1/projects/update": {
			body:  fmt.Sprintf(`{"project_id":%q,"tags":{"colors":["#2D7FF9"],"names":["new"]},"shared":true}`, lipsync),
			shows: `"tags":{"colors":["#2D7FF9"],"names":["new"]}`,
			bad: []string{
				`{}`, `{"project_id":""}`, `{"project_id":7}`, `{"project_id":"a","title":null}`, `{"project_id":"a","tags":[]}`,
				`{"project_id":"a","tags":{"names":"new"}}`, `{"project_id":"a","custom_thumbnail":7}`, `{"project_id":"a","shared":"yes"}`,
			},
		},
		"POST /v1/avatars/create_avatar": {
			body:  `{"title":"Ada","base_video_url":"https://media.example.com/1","custom":{"kept":true},` + registration + `}`,
			shows: `"status":"processing","title":"Ada"`,
			bad:   append(wrongRegistrations, `{"title":7}`, `{"base_video_url":"no url"}`),
		},
		"POST /v1/avatars/create_video": {
			body:  fmt.Sprintf(`{"avatar_id":%q,"title":"Hello","text":"Hello.","voice":"de","language":"DE-at","speed":0.5}`, avatar),
			shows: `"speed":0.5,"status":"processing","title":"Hello"`,
			bad: []string{
				`{}`, `{"avatar_id":7}`, `{"avatar_id":"a","text":7}`, `{"avatar_id":"a","audio_url":"no url"}`, `{"avatar_id":"a","voice":""}`,
				`{"avatar_id":"a","language":7}`, `{"avatar_id":"a","speed":0.4}`, `{"avatar_id":"a","speed":2.1}`, `{"avatar_id":"a","speed":"1"}`,
			},
		},
		"POST /v1/avatars/submit_consent": {
			body:  fmt.Sprintf(`{"avatar_id":%q,"granted":true}`, waiting),
			shows: fmt.Sprintf(`"avatar_id":%q`, waiting),
			bad:   []string{`{}`, `{"avatar_id":"a"}`, `{"granted":true}`, `{"avatar_id":"a","granted":"yes"}`},
		},
		"GET /v1/voices": {
			target: "/v1/voices?language=en-AU",
			shows:  `{"data":[{"gender":"male","language":"en-GB","name":"English (Great Britain)","voice_id":"en-gb"},`,
			bad:    []string{"/v1/voices?language="},
		},
		"GET /v1/avatars/avatar_details": {
			target: "/v1/avatars/avatar_details?avatar_id=" + avatar,
			shows:  `"status":"published"`,
			bad:    []string{"/v1/avatars/avatar_details", "/v1/avatars/avatar_details?avatar_id="},
		},
		"GET /v1/avatars/inference_details": {
			target: "/v1/avatars/inference_details?inference_id=" + video,
			shows:  fmt.Sprintf(`"avatar_id":%q`, avatar),
			bad:    []string{"/v1/avatars/inference_details"},
		},
		"GET /v1/avatars/list": {
			target: "/v1/avatars/list?status=published",
			shows:  fmt.Sprintf(`{"data":[{"avatar_id":%q`, avatar),
			bad:    badLists("/v1/avatars/list", "succeeded"),
		},
		"GET /v1/avatars/list_inferences": {
			target: "/v1/avatars/list_inferences?status=processing&avatar_id=" + avatar,
			shows:  fmt.Sprintf(`"inference_id":%q`, video),
			bad:    append(badLists("/v1/avatars/list_inferences", "published"), "/v1/avatars/list_inferences?avatar_id="),
		},
		"GET /v1/lipsync/list": {
			target: "/v1/lipsync/list?limit=100",
			shows:  fmt.Sprintf(`"inference_id":%q`, lipsync),
			bad:    badLists("/v1/lipsync/list", "published"),
		},
		"POST /v1/avatars/delete_avatar": {
			body: fmt.Sprintf(`{"avatar_id":%q}`, doomed), status: http.StatusNoContent,
			bad: []string{`{}`, `{"avatar_id":7}`, `{"avatar_id":""}`},
		},
		"POST /v1/avatars/delete_video": {
			body: fmt.Sprintf(`{"inference_id":%q}`, doomedVideo), status: http.StatusNoContent,
			bad: []string{`{}`, `{"inference_id":7}`, `{"avatar_id":"a"}`},
		},
		"POST /v1/lipsync/delete_lipsync": {
			body: fmt.Sprintf(`{"inference_id":%q}`, doomedLipsync), status: http.StatusNoContent,
			bad: []string{`{}`, `{"inference_id":null}`},
		},
		"POST /v1/media": {
			body: "a picture", header: map[string]string{"Content-Type": "image/png"}, status: http.StatusCreated,
			shows: `"content_type":"image/png"`,
		},
		"GET /v1/events": {
			target: "/v1/events?order=oldest&state=none&event_type=avatar_event&attempts=true&since=2026-01-01T00:00:00Z",
			shows:  `"sequence":1,"state":"none"}`,
			bad: append(badLists("/v1/events", "published")[:5], "/v1/events?order=up", "/v1/events?event_id=", "/v1/events?event_type=ping",
				"/v1/events?subject_id=", "/v1/events?state=failed", "/v1/events?since=today", "/v1/events?until=2026-01-01", "/v1/events?attempts=1"),
		},
		"GET /v1/events/stream": {},
		"POST /v1/events/replay": {
			body:  `{"since":"2026-01-01T00:00:00Z","event_type":"avatar_event","states":["exhausted","delivered"],"dry_run":true}`,
			shows: `{"dry_run":true,"events":0}`,
			bad: []string{
				`{"event_ids":[]}`, `{"event_ids":"a"}`, `{"event_ids":[""]}`, `{"since":"today"}`, `{"until":7}`, `{"event_type":"ping","since":null}`,
				`{"event_ids":["a"],"states":["pending"]}`, `{"event_ids":["a"],"states":[]}`, `{"event_ids":["a"],"dry_run":"yes"}`, `{"event_ids":["a"],"subject_id":""}`,
			},
		},
		"GET /v1/webhooks/endpoints": {shows: fmt.Sprintf(`{"data":[{"endpoint_id":%q,`, endpoints.Endpoints[0].ID), bad: badLists("/v1/webhooks/endpoints", "")[:5]},
		"POST /v1/webhooks/set_endpoint": {
			body:  fmt.Sprintf(`{"endpoint_id":%q,"state":"paused"}`, endpoints.Endpoints[0].ID),
			shows: `"state":"paused"`,
			bad:   []string{`{}`, `{"endpoint_id":"a"}`, `{"state":"paused"}`, `{"endpoint_id":"","state":"paused"}`, `{"endpoint_id":"a","state":"disabled"}`},
		},
		"GET /v1/webhooks/secret":         {shows: `{"data":[{"secret":"whsec_`},
		"POST /v1/webhooks/rotate_secret": {shows: `{"data":[{"secret":"whsec_`},
		"POST /v1/webhooks/test": {
			body:  `{"webhook_url":"https://hooks.example.com/","event_type":"avatar_event"}`,
			shows: `"delivered":true,"duration_ms":1000,"event":{"data":{"avatar_id":`,
			bad:   []string{`{}`, `{"webhook_url":"https://hooks.example.com/"}`, `{"webhook_url":"https://hooks.example.com/","event_type":"ping"}`},
		},
		"POST /v1/lipsync/create_lipsync": {
			body:  `{"title":"Bonjour","video_url":"https://media.example.com/1","audio_url":"https://media.example.com/2",` + registration + `}`,
			shows: `"status":"processing","title":"Bonjour"`,
			bad: append(wrongRegistrations, `{"title":7}`, `{"video_url":"no url"}`, `{"audio_url":7}`, `{"sync_mode":"stretch"}`,
				`{"description":7}`, `{"use_audio_from_video":"yes"}`),
		},
		"GET /v1/lipsync/inference_details": {
			target: "/v1/lipsync/inference_details?inference_id=" + lipsync,
			shows:  fmt.Sprintf(`"inference_id":%q`, lipsync),
			bad:    []string{"/v1/lipsync/inference_details"},
		},
	}
}

// badLists returns targets with invalid parameters for a list.
func badLists(path, status string) []string {
	return []string{path + "?limit=0", path + "?limit=101", path + "?limit=ten", path + "?cursor=", path + "?cursor=guess", path + "?status=" + status}
}

func TestOperations_followTheDocument(t *testing.T) {
	inMemory(t, func(s *setup) {
		document, err := openapi3.NewLoader().LoadFromData(api.Spec)
		s.check(err)
		cases := s.operations()
		for path, item := range document.Paths.Map() {
			for method, documented := range item.Operations() {
				id := method + " " + path
				c, ok := cases[id]
				if !ok {
					s.t.Errorf("%s has no case", id)
					continue
				}
				if c.target == "" {
					c.target = path
				}
				s.rejectsUnauthenticated(id, c, len(*documented.Security) == 0)
				if id == "GET /v1/events/stream" {
					continue // it does not end: see stream_events_test.go
				}
				if isFile := id == "POST /v1/media"; !isFile && (documented.RequestBody != nil || len(documented.Parameters) > 1) { // all operations have X-Request-Id
					s.rejectsInvalid(id, c)
				}
				status, answer := s.do(method, c.target, c.body, c.header)
				if status != cmp.Or(c.status, http.StatusOK) || !strings.Contains(answer, c.shows) {
					s.t.Errorf("%s answers %d %s, want 200 with %s", id, status, answer, c.shows)
				}
			}
		}
	})
}

// rejectsUnauthenticated checks that an operation that is not public responds with 401 without a token and with an
// expired token.
func (s *setup) rejectsUnauthenticated(id string, c operation, public bool) {
	s.t.Helper()
	method, _, _ := strings.Cut(id, " ")
	if public {
		status, answer := s.do(method, c.target, `{}`, map[string]string{"Authorization": absent})
		if status == http.StatusUnauthorized {
			s.t.Errorf("%s is public and answers %s", id, answer)
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
		status, answer := s.do(method, c.target, c.body, header)
		if status != http.StatusUnauthorized || !strings.Contains(answer, `"status":401`) {
			s.t.Errorf("%s answers a stranger %d %s", id, status, answer)
		}
	}
}

func (s *setup) rejectsInvalid(id string, c operation) {
	s.t.Helper()
	method, _, _ := strings.Cut(id, " ")
	if len(c.bad) == 0 {
		s.t.Errorf("%s has no bad request", id)
	}
	bad := c.bad
	if method == http.MethodPost {
		bad = append(bad, ``, `{`, `{"a":1,"a":1}`, `{}{}`, `"`+"\xff"+`"`)
	}
	for _, bad := range bad {
		target, body := c.target, bad
		if method == http.MethodGet {
			target, body = bad, ""
		}
		header := map[string]string{"Content-Type": "application/json"}
		if status, answer := s.do(method, target, body, header); status != http.StatusBadRequest {
			s.t.Errorf("%s answers %q with %d %s, want 400", id, bad, status, answer)
		}
	}
}

func TestCreate_keepsUnknownMembers(t *testing.T) {
	inMemory(t, func(s *setup) {
		const body = `{"title":"Ada","seed":12345678901234567890,"options":{"b":1,"a":[true,null]},"webhook":{"enabled":false,"retry":3}}`
		avatar := s.record("POST", "/v1/avatars/create_avatar", body, nil)
		kept, err := s.studio.Find(s.t.Context(), s.user.ID, studio.Avatar, avatar.AvatarID)
		s.check(err)
		for _, want := range []string{`"seed":12345678901234567890`, `"options":{"b":1,"a":[true,null]}`, `"title":"Ada"`, `"retry":3`} {
			if !strings.Contains(string(kept.Request), want) {
				s.t.Errorf("%s is not in what was kept: %s", want, kept.Request)
			}
		}
	})
}

// Responses contain the input of the request under the names of the response.
func TestResponse_containsTheInput(t *testing.T) {
	inMemory(t, func(s *setup) {
		const registration = `"webhook_data":{"webhook_url":"https://hooks.example.com/?key=1"},"webhook":{"enabled":true}`
		shows := func(path string, members ...string) {
			s.t.Helper()
			_, answer := s.do("GET", path, "", nil)
			for _, member := range members {
				if !strings.Contains(answer, member) {
					s.t.Errorf("%s is not in %s", member, answer)
				}
			}
		}
		avatar := s.record("POST", "/v1/avatars/create_avatar", `{"title":"Ada","base_video_url":"https://media.example.com/ada.mp4",`+registration+`}`, nil).AvatarID
		shows("/v1/avatars/avatar_details?avatar_id="+avatar, `"base_video":"https://media.example.com/ada.mp4"`,
			`"avatar_webhook":{"webhook_url":"https://hooks.example.com/?key=1"}`)
		s.publish(avatar)
		video := s.record("POST", "/v1/avatars/create_video", `{"avatar_id":"`+avatar+`","title":"Greeting","text":"Hello."}`, nil).InferenceID
		_, err := s.studio.Rendered(s.t.Context(), video, studio.Rendering{Video: "out.mp4"}, nil)
		s.check(err)
		shows("/v1/avatars/inference_details?inference_id="+video, `"avatar_title":"Ada"`, `"input_text":"Hello."`,
			`"video":"https://media.example.com/results/`+video+`/out.mp4"`)
		lipsync := s.record("POST", "/v1/lipsync/create_lipsync", `{"description":"Once","video_url":"https://media.example.com/1","audio_url":"https://media.example.com/2",
			"use_audio_from_video":true,"sync_mode":"remap"}`, nil).InferenceID
		shows("/v1/lipsync/inference_details?inference_id="+lipsync, `"description":"Once"`, `"input_video":"https://media.example.com/1"`,
			`"input_audio":"https://media.example.com/2"`, `"use_audio_from_video":true`, `"sync_mode":"remap"`)
	})
}

func TestListProjects_streamsImportedProjects(t *testing.T) {
	inMemory(t, func(s *setup) {
		const document = `{"project_id":"01936f3e-7d00-7c4d-8e55-3a7a2b1c0d20","title":"One","status":"draft","unknown":1}`
		_, err := s.studio.ImportProjects(s.t.Context(), []studio.Project{
			{ID: "1", WorkspaceID: s.workspace.ID, UserID: s.user.ID, Document: document},
			{ID: "0", WorkspaceID: s.workspace.ID, UserID: s.user.ID, Published: true, Document: `{"title":null}`},
		})
		s.check(err)
		_, answer := s.do("GET", "/projects/v2", "", map[string]string{"x-workspace-id": s.workspace.ID})
		want := `{"data":[` + document + `,{"title":null}],"size":2,"unpublished_projects":1}` + "\n"
		if answer != want {
			s.t.Errorf("got  %s\nwant %s", answer, want)
		}
	})
}

// A short list has a Content-Length, so that clients know how much they will read. A long one is sent while it is read.
func TestListProjects_declaresTheLengthOfShortLists(t *testing.T) {
	t.Parallel()
	for projects, declared := range map[int]bool{0: true, 20: true, 100: false} {
		s := newSetup(t, memstore.New(), server.ResponsesUnchecked)
		s.importMany(projects)
		w, _ := s.list()
		want := ""
		if declared {
			want = strconv.FormatInt(w.bytes, 10)
		}
		if length := w.header.Get("Content-Length"); length != want || w.bytes < int64(projects)*1000 {
			t.Errorf("a list of %d projects has %d bytes and the Content-Length %q, want %q", projects, w.bytes, length, want)
		}
	}
}

// U+0000 in an id matches no record, and in a title it is rejected. It does not cause a failure of the
// service.
func TestErrors_rejectU0000(t *testing.T) {
	eachSetup(t, func(s *setup) {
		for _, c := range []struct {
			method, target, body string
			status               int
		}{
			{"GET", "/v1/avatars/avatar_details?avatar_id=a%00", "", 404},
			{"POST", "/v1/avatars/submit_consent", `{"avatar_id":"a\u0000","granted":true}`, 404},
			{"POST", "/v1/avatars/create_video", `{"avatar_id":"a\u0000"}`, 404},
			{"POST", "/users/login", `{"email":"ada\u0000@example.com","password":"password"}`, 401},
			{"POST", "/v1/lipsync/create_lipsync", `{"title":"a\u0000b"}`, 422},
			{"POST", "/v1/lipsync/create_lipsync", `{"script":"a\u0000b"}`, 200},
		} {
			if status, answer := s.do(c.method, c.target, c.body, nil); status != c.status {
				s.t.Errorf("%s %s %s: %d %s, want %d", c.method, c.target, c.body, status, answer, c.status)
			}
		}
	})
}

// After an error, a key can be used again, with any body.
func TestIdempotencyKey_canBeUsedAgainAfterAnError(t *testing.T) {
	eachSetup(t, func(s *setup) {
		key := map[string]string{"Idempotency-Key": "key"}
		for _, c := range []struct {
			path, body string
			status     int
		}{
			{"/v1/lipsync/create_lipsync", `{"webhook":{"enabled":true}}`, 422},
			{"/v1/lipsync/create_lipsync", `{"title":7}`, 400},
			{"/v1/avatars/create_video", `{"avatar_id":"unknown"}`, 404},
			{"/v1/lipsync/create_lipsync", `{"title":"one"}`, 200},
			{"/v1/avatars/create_avatar", `{"title":"one"}`, 422}, // another operation
		} {
			if status, answer := s.do("POST", c.path, c.body, key); status != c.status {
				s.t.Errorf("%s %s: %d %s, want %d", c.path, c.body, status, answer, c.status)
			}
		}
	})
}

func TestIdempotencyKey_mustBeVisibleASCII(t *testing.T) {
	inMemory(t, func(s *setup) {
		for key, want := range map[string]int{"!~": 200, strings.Repeat("k", 255): 200, strings.Repeat("k", 256): 400, "a b": 400, "é": 400, "": 400} {
			if status, answer := s.do("POST", "/v1/lipsync/create_lipsync", `{}`, map[string]string{"Idempotency-Key": key}); status != want {
				s.t.Errorf("%q: %d %s, want %d", key, status, answer, want)
			}
		}
	})
}
