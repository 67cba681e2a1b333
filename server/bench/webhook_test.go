package bench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
	svix "github.com/svix/svix-webhooks/go"

	"github.com/avatarstudio/avatarstudio/api/harness"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
)

// remembered is the number of ids that every receiver of BenchmarkReceiver stores.
const remembered = 10_000

// BenchmarkReceiver measures what a receiver does with a notification that it has not seen: it verifies the notification,
// stores its id, decodes it and calls the function for its event. The libraries only verify. The rest is what a program
// writes around them with a map and encoding/json, which does not detect stale events or concurrent duplicates.
func BenchmarkReceiver(b *testing.B) {
	secret := webhook.NewSecret()
	for name, newReceiver := range map[string]func(testing.TB, webhook.Secret, *int) func(http.Header, []byte) error{
		"client-webhook": newStudioReceiver,
		"standardwebhooks": func(tb testing.TB, secret webhook.Secret, handled *int) func(http.Header, []byte) error {
			library, err := standard.NewWebhook(secret.Reveal())
			harness.Check(tb, err)
			return newLibraryReceiver(library.Verify, handled)
		},
		"svix": func(tb testing.TB, secret webhook.Secret, handled *int) func(http.Header, []byte) error {
			library, err := svix.NewWebhook(secret.Reveal())
			harness.Check(tb, err)
			return newLibraryReceiver(library.Verify, handled)
		},
	} {
		b.Run(name, func(b *testing.B) {
			// There are more notifications than ids that a receiver stores, so that none is a duplicate.
			headers, bodies := signedEvents(b, remembered+100, secret)
			var handled, n int
			handle := newReceiver(b, secret, &handled)
			b.ReportAllocs()
			for b.Loop() {
				harness.Check(b, handle(headers[n%len(headers)], bodies[n%len(bodies)]))
				n++
			}
			if handled != n {
				b.Errorf("%d of %d notifications were handled", handled, n)
			}
		})
	}
}

func signedEvents(tb testing.TB, n int, secret webhook.Secret) (headers []http.Header, bodies [][]byte) {
	tb.Helper()
	for i := range n {
		id := fmt.Sprintf("01936f3e-7c00-7a3b-8c44-%012d", i)
		body := fmt.Appendf(nil, `{"event_type":"avatar_event","data":{"avatar_id":%q,"status":"published"}}`, id)
		header := http.Header{webhook.HeaderSequence: {"3"}}
		harness.Check(tb, webhook.Sign(header, id, time.Now(), body, secret))
		headers, bodies = append(headers, header), append(bodies, body)
	}
	return headers, bodies
}

func newStudioReceiver(tb testing.TB, secret webhook.Secret, handled *int) func(http.Header, []byte) error {
	tb.Helper()
	receiver, err := webhook.NewReceiver(webhook.Handlers{
		Avatar: func(context.Context, gen.AvatarEvent, webhook.Delivery) error {
			*handled++
			return nil
		},
		Unhandled: func(context.Context, gen.Event, webhook.Delivery) error { return nil },
	}, webhook.StandardWebhooks(secret))
	harness.Check(tb, err)
	return func(header http.Header, body []byte) error { return receiver.Handle(tb.Context(), header, body) }
}

func newLibraryReceiver(verify func([]byte, http.Header) error, handled *int) func(http.Header, []byte) error {
	var mu sync.Mutex
	seen := map[string]bool{}
	return func(header http.Header, body []byte) error {
		if err := verify(body, header); err != nil {
			return err
		}
		id := header.Get(webhook.HeaderID)
		mu.Lock()
		duplicate := seen[id]
		if len(seen) == remembered {
			clear(seen)
		}
		seen[id] = true
		mu.Unlock()
		if duplicate {
			return nil
		}
		var event gen.Event
		if err := json.Unmarshal(body, &event); err != nil {
			return err
		}
		if event.EventType == gen.EventTypeAvatar {
			var data gen.AvatarEventData
			if err := json.Unmarshal(event.Data, &data); err != nil {
				return err
			}
			*handled++
		}
		return nil
	}
}
