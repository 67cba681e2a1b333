package rest_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	service reach = "is the same for all keys"                                                       // it concerns no record and not the account
	creates reach = "creates a record in the workspace"                                              // of the key
	lists   reach = "lists records of the workspace"                                                 // of the key
	follows reach = "streams events of the workspace"                                                // of the key
	single  reach = "does not find other records"                                                    // 404
	account reach = "is in accountOperations of server/internal/api/auth/api_keys.go: 403 for a key" // for one workspace
)

// reaches has the operations of the document that are not public.
var reaches = map[reach][]string{
	service: {"GET /v1/voices", "POST /v1/media"},
	creates: {"POST /v1/avatars/create_avatar", "POST /v1/lipsync/create_lipsync"},
	lists: {
		"GET /projects/v2", "GET /v1/avatars/list", "GET /v1/avatars/list_inferences", "GET /v1/lipsync/list", "GET /v1/events", "POST /v1/events/replay",
	},
	follows: {"GET /v1/events/stream"},
	single: {
		"POST /v1/projects/update", "POST /v1/avatars/create_video", "POST /v1/avatars/submit_consent", "GET /v1/avatars/avatar_details",
		"GET /v1/avatars/inference_details", "GET /v1/lipsync/inference_details",
		"POST /v1/avatars/delete_avatar", "POST /v1/avatars/delete_video", "POST /v1/lipsync/delete_lipsync",
	},
	account: {
		"GET /v1/webhooks/endpoints", "POST /v1/webhooks/set_endpoint", "GET /v1/webhooks/secret", "POST /v1/webhooks/rotate_secret", "POST /v1/webhooks/test",
	},
}

// document is the document. It is parsed once.
var document = sync.OnceValues(func() (*openapi3.T, error) { return openapi3.NewLoader().LoadFromData(api.Spec) })

func (s *setup) document() *openapi3.T {
	s.t.Helper()
	parsed, err := document()
	s.check(err)
	return parsed
}

// operation is an operation of the document, and a request that succeeds: its first example, with other ids.
type operation struct {
	id, method, path string // id is the method and the path
	reach            reach
	parameters       openapi3.Parameters
	status           int

	target string // including the query
	header map[string]string
	body   string
}

// operations returns the operations of the document by their ids.
func (s *setup) operations() map[string]operation {
	s.t.Helper()
	replaced := s.examples()
	all := map[string]operation{}
	for path, item := range s.document().Paths.Map() {
		for method, described := range item.Operations() {
			c := operation{id: method + " " + path, method: method, path: path, parameters: described.Parameters, target: path, header: map[string]string{}}
			c.reach = public
			for reach, ids := range reaches {
				if slices.Contains(ids, c.id) {
					c.reach = reach
				}
			}
			if isPublic := len(*described.Security) == 0; isPublic != (c.reach == public) {
				s.t.Fatalf("server/internal/api/rest/contract_test.go: reaches needs %s", c.id)
			}
			ids := cmp.Or(replaced[path], replaced[""])
			if strings.Contains(path, "/delete_") {
				ids = replaced["delete"]
			}
			for _, one := range described.Parameters {
				switch example, _ := one.Value.Example.(string); {
				case !one.Value.Required:
				case one.Value.In == "header":
					c.header[one.Value.Name] = ids.Replace(example)
				case one.Value.In == "path":
					c.target = strings.Replace(c.target, "{"+one.Value.Name+"}", ids.Replace(example), 1)
				default:
					c.target += "?" + one.Value.Name + "=" + ids.Replace(example)
				}
			}
			if body := described.RequestBody; body != nil && body.Value.Content["application/json"] != nil {
				examples := body.Value.Content["application/json"].Examples
				text, err := json.Marshal(examples[slices.Min(slices.Collect(maps.Keys(examples)))].Value.Value)
				s.check(err)
				c.body = ids.Replace(string(text))
			} else if body != nil {
				c.body, c.header["Content-Type"] = "a picture", "image/png"
			}
			for status := range described.Responses.Map() {
				if status < "300" {
					var err error
					c.status, err = strconv.Atoi(status)
					s.check(err)
				}
			}
			all[c.id] = c
		}
	}
	return all
}

// examples creates what the examples of the document are about. It returns what replaces their ids, for most operations
// as "", for deletions, and for the paths of others that change what they are about.
func (s *setup) examples() map[string]*strings.Replacer {
	s.t.Helper()
	const createAvatar, createVideo, createLipsync = "/v1/avatars/create_avatar", "/v1/avatars/create_video", "/v1/lipsync/create_lipsync"
	create := func(path, body string) string { return s.record("POST", path, body, nil).id() }
	registered := `{"webhook_data":{"webhook_url":"https://hooks.example.com/"},"webhook":{"enabled":true}}`
	create(createLipsync, registered)
	endpoints, err := s.studio.Endpoints(s.t.Context(), s.user.ID, "", 1)
	s.check(err)
	s.do("GET", "/v1/webhooks/secret", "", nil) // makes the secret that the rotation shows beside the new one
	ids := func(avatar, video, lipsync string) *strings.Replacer {
		return strings.NewReplacer("correct horse battery staple", "password", "c29tZS1vcGFxdWUtcmVmcmVzaC10b2tlbg", s.login(s.user.Email).Refresh,
			"01936f3e-7c00-7a3b-8c44-2f6f1f0a9d10", s.workspace.ID, "01936f3e-8a10-7d51-9a3e-0c5b7e1d2f30", avatar,
			"01936f3e-9b20-7e62-8b4f-1d6c8f2e3a41", video, "01936f3e-ac30-7f73-9c5a-2e7d9a3f4b52", lipsync, "ZW5kcG9pbnQtMg", endpoints.Endpoints[0].ID)
	}
	avatar, waiting := create(createAvatar, `{}`), create(createAvatar, `{}`)
	s.publish(avatar)
	_, err = s.studio.Rendered(s.t.Context(), waiting, studio.Rendering{}, nil)
	s.check(err)
	ofAvatar := fmt.Sprintf(`{"avatar_id":%q}`, avatar)
	video, lipsync := create(createVideo, ofAvatar), create(createLipsync, `{}`)
	return map[string]*strings.Replacer{
		"": ids(avatar, video, lipsync), "/users/logout": ids("", "", ""), "/v1/avatars/submit_consent": ids(waiting, "", ""),
		"delete": ids(create(createAvatar, `{}`), create(createVideo, ofAvatar), create(createLipsync, `{}`)),
	}
}

// Each operation has the documented response for its caller only, and refuses who is not authenticated.
func TestOperations_followTheDocument(t *testing.T) {
	inMemory(t, func(s *setup) {
		bob := s.login(studiotest.AddUser(s.t, s.studio, "bob@example.com").Email).Access
		operations := s.operations()
		own := s.token
		for _, c := range operations {
			s.rejectsUnauthenticated(c)
			s.token = bob
			switch {
			case c.reach == single:
				s.wantStatus(c, http.StatusNotFound, "")
			case len(c.header) > 0 && c.reach == lists:
				s.wantStatus(c, http.StatusForbidden, "")
			case c.reach == lists && c.method == http.MethodGet:
				s.wantStatus(c, http.StatusOK, `{"data":[]`)
			}
			s.token = own
		}
		for _, c := range operations {
			if c.reach != follows { // which does not end: see events_test.go
				s.wantStatus(c, c.status, map[string]string{
					"POST /users/login":               `"access_token":"`,
					"GET /projects/v2":                `"project_type":"PERSONALIZED",`,
					"POST /v1/projects/update":        `"tags":{"colors":["#2D7FF9"],"names":["onboarding"]}`,
					"POST /v1/media":                  `"content_type":"image/png","expires_at":"` + s.clock.Now().Add(7*24*time.Hour).Format(time.RFC3339),
					"GET /v1/voices":                  `{"gender":"male","language":"en-GB","name":"English (Great Britain)","voice_id":"en-gb"},`,
					"GET /v1/webhooks/secret":         `{"data":[{"secret":"whsec_`,
					"POST /v1/webhooks/rotate_secret": `"},{"expires_at":"2026-01-13T12:00:00Z","secret":"whsec_`,
				}[c.id])
			}
		}
	})
}

// An event of no kind would be no filter: a replay of its events would send all events again.
func TestEvents_haveKinds(t *testing.T) {
	t.Parallel()
	parsed, err := document()
	if err != nil {
		t.Fatal(err)
	}
	for name := range parsed.Webhooks {
		if studio.KindOfEvent(name) == "" {
			t.Errorf("server/internal/studio/kind.go: kinds needs %s", name)
		}
	}
}

// wantStatus sends the request of an operation and checks its status, and that the response contains a text.
func (s *setup) wantStatus(c operation, status int, shows string) {
	s.t.Helper()
	if got, answer := s.do(c.method, c.target, c.body, c.header); got != status || !strings.Contains(answer, shows) {
		s.t.Errorf("%s %s: %d %s, want %d with %s; what examples refer to is made in server/internal/api/rest/contract_test.go", c.id, c.reach, got, answer, status, shows)
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
	id, text := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`), regexp.MustCompile(`"[,}\]]`)
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
			for _, one := range c.parameters {
				if one.Value.In == "query" {
					survives(c.path+"?"+one.Value.Name+"=a%00", c.body)
				}
			}
			for _, end := range text.FindAllStringIndex(c.body, -1) {
				survives(c.target, c.body[:end[0]]+`\u0000`+c.body[end[0]:])
			}
		}
		s.wantCode("title_invalid", "", "POST", "/v1/lipsync/create_lipsync", `{"title":"a\u0000b"}`, nil)
		s.record("POST", "/v1/lipsync/create_lipsync", `{"script":"a\u0000b"}`, nil)
	})
}
