package bench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
	svix "github.com/svix/svix-webhooks/go"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
)

// remembered is the number of ids that every receiver stores.
const remembered = 10_000

const studioName = "client/webhook"

// receiver is a way to receive a notification that has not been seen: to verify it, store its id, decode it and call
// the function for its event. The libraries only verify. The rest is what a program writes around them with a map and
// encoding/json, which does not detect stale events or concurrent duplicates.
type receiver struct {
	name, module string
	build        func(testing.TB, webhook.Secret, *int) func(http.Header, []byte) error
}

func receivers() []receiver {
	return []receiver{
		{studioName, "", newStudioReceiver},
		{
			"standardwebhooks", "github.com/standard-webhooks/standard-webhooks/libraries",
			func(tb testing.TB, secret webhook.Secret, handled *int) func(http.Header, []byte) error {
				library, err := standard.NewWebhook(secret.Reveal())
				harness.Check(tb, err)
				return newLibraryReceiver(library.Verify, handled)
			},
		},
		{
			"svix", "github.com/svix/svix-webhooks",
			func(tb testing.TB, secret webhook.Secret, handled *int) func(http.Header, []byte) error {
				library, err := svix.NewWebhook(secret.Reveal())
				harness.Check(tb, err)
				return newLibraryReceiver(library.Verify, handled)
			},
		},
	}
}

// measureReceivers measures the receivers alternately.
func (r *results) measureReceivers(t *testing.T) {
	t.Helper()
	secret := webhook.NewSecret()
	// There are more notifications than ids that a receiver stores, so that none is a duplicate.
	headers, bodies := signedEvents(t, remembered+100, secret)
	var all []func() cost
	for _, receiver := range receivers() {
		handled, next := 0, 0
		handle := receiver.build(t, secret, &handled)
		all = append(all, func() cost {
			return costOf(r.notifications, func() {
				harness.Check(t, handle(headers[next%len(headers)], bodies[next%len(bodies)]))
				if next++; handled != next {
					t.Fatalf("%s has handled %d of %d notifications", receiver.name, handled, next)
				}
			})
		})
	}
	r.received = alternate(all, r.rounds, func(measure func() cost) cost { return measure() })
}

func (r *results) receiverTable(versions map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| Receiver | Version | CPU µs | × %s | B | allocations |\n|---|---|--:|--:|--:|--:|\n", studioName)
	for i, receiver := range receivers() {
		received := r.received[i]
		fmt.Fprintf(&b, "| %s | %s | %.1f | %.2f | %.0f | %.0f |\n", receiver.name, versions[receiver.module], received.median(cost.cpu)/1e3,
			received.ratio(r.received[0], cost.cpu), received.median(cost.bytes), received.median(cost.allocs))
	}
	return b.String()
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
