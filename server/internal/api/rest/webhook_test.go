package rest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

func (s *setup) secrets(method, path string) []gen.WebhookSecret {
	s.t.Helper()
	status, answer := s.do(method, path, "", nil)
	if status != http.StatusOK {
		s.t.Fatal(answer)
	}
	var list gen.WebhookSecretList
	s.check(json.Unmarshal([]byte(answer), &list))
	return list.Data
}

func TestRotateWebhookSecret_keepsTheOldSecretForADay(t *testing.T) {
	inMemory(t, func(s *setup) {
		first := s.secrets(http.MethodGet, "/v1/webhooks/secret")
		rotated := s.secrets(http.MethodPost, "/v1/webhooks/rotate_secret")
		if len(first) != 1 || len(rotated) != 2 || rotated[1].Secret != first[0].Secret || rotated[0].ExpiresAt != nil ||
			!rotated[1].ExpiresAt.Equal(s.clock.Now().Add(24*time.Hour)) {
			s.t.Errorf("first %+v, then %+v", first, rotated)
		}
		if read := s.secrets(http.MethodGet, "/v1/webhooks/secret"); len(read) != 2 || read[0].Secret != rotated[0].Secret {
			s.t.Errorf("read are %+v", read)
		}
	})
}

func TestRotateWebhookSecret_hasALimit(t *testing.T) {
	inMemory(t, func(s *setup) {
		for range 10 {
			s.secrets(http.MethodPost, "/v1/webhooks/rotate_secret")
			s.clock.Add(time.Minute)
		}
		status, answer := s.do(http.MethodPost, "/v1/webhooks/rotate_secret", "", nil)
		if status != http.StatusTooManyRequests || len(s.secrets(http.MethodGet, "/v1/webhooks/secret")) != 10 {
			s.t.Errorf("the eleventh: %d %s", status, answer)
		}
	})
}

// sending accepts the URLs of [studiotest.Webhooks] and sends with a function.
type sending func(sender.Message) sender.Attempt

func (sending) CanonicalURL(url string) (string, error) {
	return studiotest.Webhooks{}.CanonicalURL(url)
}
func (send sending) Send(_ context.Context, m sender.Message) sender.Attempt { return send(m) }

func TestTestWebhook_sendsASampleEvent(t *testing.T) {
	inMemory(t, func(s *setup) {
		test := func(url, event string) (int, string) {
			return s.do(http.MethodPost, "/v1/webhooks/test", `{"webhook_url":"`+url+`","event_type":"`+event+`"}`, nil)
		}
		sent, down := 0, false
		s.studio.Webhooks = sending(func(m sender.Message) sender.Attempt {
			if sent++; down {
				return sender.Attempt{Failure: "connect", Duration: 2 * time.Millisecond}
			}
			return studiotest.Webhooks{}.Send(s.t.Context(), m)
		})
		for event, shows := range map[string]string{
			"avatar_event": `"status":"published"},"event_type":"avatar_event"}`, "avatar_inference_event": `"status":"succeeded"},"event_type":"avatar_inference_event"}`,
			"lipsync_inference_event": `"status":"succeeded"},"event_type":"lipsync_inference_event"}`,
		} {
			if status, answer := test("https://hooks.example.com/", event); status != 200 || !strings.Contains(answer, shows) ||
				!strings.Contains(answer, `"delivered":true`) || !strings.HasSuffix(answer, `,"status":204}`+"\n") {
				s.t.Errorf("%s: %d %s", event, status, answer)
			}
		}
		down = true
		if status, answer := test("https://down.example/", "avatar_event"); status != 200 || !strings.HasPrefix(answer, `{"delivered":false,"duration_ms":2,"error":"connect","event":{`) || strings.Contains(answer, `"status":0`) {
			s.t.Errorf("a receiver that is down: %d %s", status, answer)
		}
		if down = false; sent != 4 {
			s.t.Errorf("4 samples took %d attempts", sent)
		}
		if status, answer := test("https://refused.example/", "avatar_event"); status != 422 || !strings.Contains(answer, `"pointer":"/webhook_url"`) {
			s.t.Errorf("a refused URL: %d %s", status, answer)
		}
		for _, list := range []string{"/v1/webhooks/endpoints", "/v1/events"} {
			if _, answer := s.do(http.MethodGet, list, "", nil); answer != `{"data":[]}`+"\n" {
				s.t.Errorf("after the samples, %s lists %s", list, answer)
			}
		}
		for n := sent; n < 10; n++ {
			test("https://hooks.example.com/", "avatar_event")
		}
		if status, _ := test("https://hooks.example.com/", "avatar_event"); status != http.StatusTooManyRequests || sent != 10 {
			s.t.Errorf("after %d samples: %d", sent, status)
		}
		s.clock.Add(time.Minute)
		if status, _ := test("https://hooks.example.com/", "avatar_event"); status != http.StatusOK || sent != 11 {
			s.t.Errorf("a minute later: %d after %d samples", status, sent)
		}
	})
}
