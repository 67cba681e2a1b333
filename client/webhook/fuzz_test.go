package webhook_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
)

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

// A receiver refuses a notification if any byte of it changed.
func FuzzReceiver_refusesChangedNotifications(f *testing.F) {
	f.Add("evt-1", []byte(unlisted), int64(1765272000), uint8(0), uint16(0), uint8(1))
	f.Add("evt-1/2", []byte(nil), int64(1), uint8(1), uint16(0), uint8(0x20))
	f.Add("é", []byte("\xff\x00"), int64(-1), uint8(2), uint16(1), uint8(0x80))
	f.Add("evt-1", []byte(unlisted), int64(1765272000), uint8(3), uint16(2), uint8(','^' '))
	f.Add("evt-1", []byte(unlisted), int64(1765272000), uint8(3), uint16(46), uint8('='^' '))
	f.Add("9", []byte("1.{}"), int64(1765272000), uint8(1), uint16(0), uint8('1'^'+'))
	secret, err := webhook.ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, id string, body []byte, seconds int64, part uint8, at uint16, flip uint8) {
		now := time.Unix(seconds, 0)
		header := http.Header{}
		if webhook.Sign(header, id, now, body, secret) != nil || flip == 0 {
			t.Skip("nothing that can be signed, or no change")
		}
		receiver := newReceiver(t, (&recorder{}).handlers(), func(n webhook.Notification) error {
			return webhook.Verify(n.Header, n.Body, now, secret)
		})
		if err := receiver.Handle(t.Context(), header, body); errors.Is(err, webhook.ErrRefused) {
			t.Fatalf("refused the original: %v", err)
		}
		mutate := func(original string) string {
			changed := []byte(original)
			if len(changed) > 0 {
				changed[int(at)%len(changed)] ^= flip
			} else {
				changed = []byte{flip}
			}
			return string(changed)
		}
		switch names := []string{webhook.HeaderID, webhook.HeaderTimestamp, webhook.HeaderSignature}; int(part) % 4 {
		case 3:
			body = []byte(mutate(string(body)))
		default:
			name := names[part%4]
			header.Set(name, mutate(header.Get(name)))
		}
		if err := receiver.Handle(t.Context(), header, body); !errors.Is(err, webhook.ErrRefused) {
			t.Errorf("accepted %q, %q: %v", header, body, err)
		}
	})
}
