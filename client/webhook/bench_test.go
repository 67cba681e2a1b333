package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
)

// raceEnabled is true under the race detector, which allocates too.
var raceEnabled bool

type notification struct {
	header http.Header
	body   []byte
}

// notifications returns n events of n avatars, signed with the last of the secrets.
func notifications(tb testing.TB, n int, secrets ...webhook.Secret) []notification {
	tb.Helper()
	all := make([]notification, n)
	for i := range all {
		body := fmt.Appendf(nil, `{"event_type":"avatar_event","data":{"avatar_id":"01936f3e-7c00-7a3b-8c44-%012d","status":"published"}}`, i)
		all[i] = notification{signed(tb, fmt.Sprintf("01936f3e-7c00-7a3b-8c44-%012d", i), body, secrets[len(secrets)-1]), body}
		all[i].header.Set(webhook.HeaderSequence, "3")
	}
	return all
}

// handling returns a function that handles one notification per call. There are more notifications than
// the receiver stores, so each call verifies, decodes, claims, handles and commits a notification and
// drops the oldest one.
func handling(tb testing.TB, secrets ...webhook.Secret) func() {
	tb.Helper()
	receiver := newReceiver(tb, webhook.Handlers{
		Avatar:    func(context.Context, gen.AvatarEvent, webhook.Delivery) error { return nil },
		Unhandled: func(context.Context, gen.Event, webhook.Delivery) error { return errors.New("not an avatar") },
		Stale:     func(context.Context, gen.Event, webhook.Delivery) { tb.Error("stale") },
	}, webhook.StandardWebhooks(secrets...))
	all := notifications(tb, 10_100, secrets...)
	next := 0
	return func() {
		n := all[next%len(all)]
		next++
		if err := receiver.Handle(tb.Context(), n.header, n.body); err != nil {
			tb.Fatal(err)
		}
	}
}

// This test is not parallel, because it counts the allocations of all goroutines.
func TestAllocations_handlingAnEventAllocatesLittle(t *testing.T) { //nolint:paralleltest // see above
	const most = 32
	if raceEnabled {
		t.Skip("the race detector adds allocations; make test runs this without it too")
	}
	if got := testing.AllocsPerRun(1000, handling(t, webhook.NewSecret())); got > most {
		t.Errorf("%v allocations, want at most %d", got, most)
	}
}
