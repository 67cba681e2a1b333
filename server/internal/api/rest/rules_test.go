package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

const webhookURL = `"webhook_data":{"webhook_url":"https://hooks.example.com/"}`

// A webhook is registered only if it is enabled by true and has a URL. An absent member is neither.
func TestCreate_registersEnabledWebhooksOnly(t *testing.T) {
	inMemory(t, func(s *setup) {
		for body, registered := range map[string]bool{
			`{` + webhookURL + `,"webhook":{"enabled":true}}`:                   true,
			`{` + webhookURL + `,"webhook":{"enabled":false}}`:                  false,
			`{` + webhookURL + `,"webhook":{"enabled":null}}`:                   false,
			`{` + webhookURL + `,"webhook":{}}`:                                 false,
			`{` + webhookURL + `,"webhook":null}`:                               false,
			`{` + webhookURL + `}`:                                              false,
			`{"webhook_data":{"webhook_url":null},"webhook":{"enabled":false}}`: false,
			`{"webhook_data":{},"webhook":{"enabled":false}}`:                   false,
			`{"webhook_data":null}`:                                             false,
			`{}`:                                                                false,
		} {
			for kind, path := range map[studio.Kind]string{studio.Avatar: "/v1/avatars/create_avatar", studio.Lipsync: "/v1/lipsync/create_lipsync"} {
				created := s.record("POST", path, body, nil)
				subject, err := s.studio.Find(s.t.Context(), s.user.ID, kind, created.AvatarID+created.InferenceID)
				s.check(err)
				if want := map[bool]string{true: "https://hooks.example.com/"}[registered]; subject.WebhookURL != want {
					s.t.Errorf("%s %s registers %q, want %q", path, body, subject.WebhookURL, want)
				}
			}
		}
	})
}

// Every operation that has a caller acts for the caller only.
func TestOperations_actForTheirCaller(t *testing.T) {
	inMemory(t, func(s *setup) {
		own := s.operations()
		var err error
		s.token, err = s.studio.IssueAccessToken(studio.AccessToken{
			UserID: studiotest.AddUser(s.t, s.studio, "bob@example.com").ID, SessionID: "session", IssuedAt: s.clock.Now(),
		})
		s.check(err)
		for id, c := range own {
			want, shows := http.StatusOK, `{"data":[]`
			switch {
			case c.reach == single:
				want, shows = http.StatusNotFound, ""
			case c.header["x-workspace-id"] != "":
				want, shows = http.StatusForbidden, ""
			case c.reach != lists || c.method != http.MethodGet:
				continue
			}
			if status, answer := s.do(c.method, c.target, c.body, c.header); status != want || !strings.Contains(answer, shows) {
				s.t.Errorf("%s answers a stranger %d %s, want %d with %s", id, status, answer, want, shows)
			}
		}
	})
}

// Failures count by the address of their request. A login and a refresh make their address known.
func TestLogin_countsByAddress(t *testing.T) {
	inMemory(t, func(s *setup) {
		from := func(address, path, body string) (status int, pair gen.TokenPair) {
			request := httptest.NewRequest("POST", path, strings.NewReader(body))
			request.RemoteAddr = address + ":1"
			request.Header.Set("Content-Type", "application/json")
			response := httptest.NewRecorder()
			s.handler.ServeHTTP(response, request)
			if response.Code == http.StatusOK {
				s.check(json.Unmarshal(response.Body.Bytes(), &pair))
			}
			return response.Code, pair
		}
		const right, wrong = `{"email":"ada@example.com","password":"password"}`, `{"email":"ada@example.com","password":"guess"}`
		_, pair := from("192.0.2.7", "/users/login", right)
		if status, _ := from("192.0.2.8", "/users/refresh", `{"refresh_token":"`+pair.RefreshToken+`"}`); status != http.StatusOK {
			s.t.Fatalf("refresh: %d", status)
		}
		for i := range 50 {
			from(fmt.Sprintf("198.51.100.%d", i), "/users/login", wrong)
		}
		for address, want := range map[string]int{"203.0.113.1": 429, "192.0.2.7": 200, "192.0.2.8": 200} {
			if status, _ := from(address, "/users/login", right); status != want {
				s.t.Errorf("a login from %s: %d, want %d", address, status, want)
			}
		}
	})
}

func TestListVideos_filtersByAvatar(t *testing.T) {
	eachSetup(t, func(s *setup) {
		for _, create := range []kind{s.kinds()[1], s.kinds()[1]} {
			video := s.record("POST", create.create, create.body, nil)
			if _, answer := s.do("GET", "/v1/avatars/list_inferences?avatar_id="+video.AvatarID, "", nil); strings.Count(answer, "inference_id") != 1 ||
				!strings.Contains(answer, video.InferenceID) {
				s.t.Errorf("the videos of %s are %s", video.AvatarID, answer)
			}
		}
	})
}
