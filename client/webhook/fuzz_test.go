package webhook_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
)

// No request causes a panic, and no callback sees one that is not signed.
func FuzzReceiver(f *testing.F) {
	f.Add(`{"event_type":"avatar_event","data":{"avatar_id":"a-1","status":"published"}}`, "id", "1765272000", "v1,AAAA", "1")
	f.Add(`{"event_type":"avatar_inference_event","data":[]}`, "", "", "", "-1")
	f.Add(`{"event_type":null}`, "", "", "", "99999999999999999999")
	f.Add("\xff", "\n", "9223372036854775807", "v1, v1,", "x")
	secret := webhook.NewSecret()
	f.Fuzz(func(t *testing.T, body, id, timestamp, signature, sequence string) {
		var calls atomic.Int32
		count := func(context.Context, gen.Event, webhook.Delivery) error { calls.Add(1); return nil }
		handlers := (&recorder{}).handlers()
		handlers.Unhandled = count
		header := numbered(id, sequence)
		header.Set(webhook.HeaderTimestamp, timestamp)
		header.Set(webhook.HeaderSignature, signature)
		for status, verifier := range map[int]webhook.Verifier{
			http.StatusUnauthorized: webhook.StandardWebhooks(secret),
			http.StatusNoContent:    webhook.Unverified(),
		} {
			answer := serve(t, newReceiver(t, handlers, verifier), http.MethodPost, "/", header, strings.NewReader(body))
			tooLarge := answer.Code == http.StatusRequestEntityTooLarge && len(body) > 1<<20
			malformed := answer.Code == http.StatusBadRequest && status == http.StatusNoContent
			if answer.Code != status && !tooLarge && !malformed {
				t.Errorf("status %s", strconv.Itoa(answer.Code))
			}
			if status == http.StatusUnauthorized && calls.Load() != 0 {
				t.Error("a callback saw what was not verified")
			}
			calls.Store(0)
		}
	})
}
