package rest_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// sending accepts the URLs of [studiotest.Webhooks] and sends with a function.
type sending func(sender.Message) sender.Attempt

func (sending) CanonicalURL(url string) (string, error) {
	return studiotest.Webhooks{}.CanonicalURL(url)
}
func (send sending) Send(_ context.Context, m sender.Message) sender.Attempt { return send(m) }

// A test of a receiver that is down says so, is one attempt, and registers nothing.
func TestTestWebhook_sendsASampleEvent(t *testing.T) {
	inMemory(t, func(s *setup) {
		sent := 0
		s.studio.Webhooks = sending(func(sender.Message) sender.Attempt {
			sent++
			return sender.Attempt{Failure: "connect", Duration: 2 * time.Millisecond}
		})
		status, answer := s.do(http.MethodPost, "/v1/webhooks/test", `{"webhook_url":"https://down.example/","event_type":"lipsync_inference_event"}`, nil)
		if want := `{"delivered":false,"duration_ms":2,"error":"connect","event":{"data":{"inference_id":`; status != 200 || !strings.HasPrefix(answer, want) ||
			!strings.HasSuffix(answer, `,"event_type":"lipsync_inference_event"}}`+"\n") || sent != 1 {
			s.t.Errorf("%d attempts: %d %s", sent, status, answer)
		}
		for _, list := range []string{"/v1/webhooks/endpoints", "/v1/events"} {
			if _, answer := s.do(http.MethodGet, list, "", nil); answer != `{"data":[]}`+"\n" {
				s.t.Errorf("after the sample, %s lists %s", list, answer)
			}
		}
	})
}
