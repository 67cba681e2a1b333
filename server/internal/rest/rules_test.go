package rest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

const webhookURL = `"webhook_data":{"webhook_url":"https://hooks.example.com/"}`

// A webhook is registered only if it is enabled by true and has a URL. An absent member is neither.
func TestCreate_registersEnabledWebhooksOnly(t *testing.T) {
	eachSetup(t, func(s *setup) {
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

// A decision has the effect that its request names.
func TestSubmitConsent_decides(t *testing.T) {
	eachSetup(t, func(s *setup) {
		for granted, want := range map[string]string{"true": "published", "false": "consent_failed"} {
			avatar := s.record("POST", "/v1/avatars/create_avatar", `{}`, nil)
			_, err := s.studio.Rendered(s.t.Context(), avatar.AvatarID, studio.Rendering{}, nil)
			s.check(err)
			decided := s.record("POST", "/v1/avatars/submit_consent", `{"avatar_id":"`+avatar.AvatarID+`","granted":`+granted+`}`, nil)
			if decided.Status != want {
				s.t.Errorf("granted %s: %s, want %s", granted, decided.Status, want)
			}
		}
	})
}

// Every operation that has a caller acts for the caller only.
func TestOperations_actForTheirCaller(t *testing.T) {
	eachSetup(t, func(s *setup) {
		own := s.operations()
		var err error
		s.token, err = s.studio.IssueAccessToken(studiotest.AddUser(s.t, s.studio, "bob@example.com").ID, s.clock.Now())
		s.check(err)
		for id, want := range map[string]int{
			"GET /projects/v2":                  http.StatusForbidden,
			"POST /v1/avatars/create_video":     http.StatusNotFound,
			"POST /v1/avatars/submit_consent":   http.StatusNotFound,
			"GET /v1/avatars/avatar_details":    http.StatusNotFound,
			"GET /v1/avatars/inference_details": http.StatusNotFound,
			"GET /v1/lipsync/inference_details": http.StatusNotFound,
			"POST /v1/avatars/delete_avatar":    http.StatusNotFound,
			"POST /v1/avatars/delete_video":     http.StatusNotFound,
			"POST /v1/lipsync/delete_lipsync":   http.StatusNotFound,
		} {
			method, path, _ := strings.Cut(id, " ")
			target := own[id].target
			if target == "" {
				target = path
			}
			if status, answer := s.do(method, target, own[id].body, own[id].header); status != want {
				s.t.Errorf("%s answers a stranger %d %s, want %d", id, status, answer, want)
			}
		}
		for _, list := range []string{"/v1/avatars/list", "/v1/avatars/list_inferences", "/v1/lipsync/list"} {
			if _, answer := s.do("GET", list, "", nil); answer != `{"data":[]}`+"\n" {
				s.t.Errorf("%s answers a stranger %s", list, answer)
			}
		}
	})
}
