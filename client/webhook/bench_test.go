package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
)

// This test is not parallel, because it counts the allocations of all goroutines.
func TestAllocations_handlingAnEventAllocatesLittle(t *testing.T) { //nolint:paralleltest // see above
	const most, runs = 32, 1000
	secret, handled := webhook.NewSecret(), 0
	receiver := newReceiver(t, webhook.Handlers{
		Avatar: func(context.Context, gen.AvatarEvent, webhook.Delivery) error { handled++; return nil },
	}, webhook.StandardWebhooks(secret))
	var headers [runs + 1]http.Header
	var bodies [runs + 1][]byte
	for i := range headers {
		id := fmt.Sprintf("01936f3e-7c00-7a3b-8c44-%012d", i)
		bodies[i] = []byte(`{"event_type":"avatar_event","data":{"avatar_id":"` + id + `","status":"published"}}`)
		headers[i] = signed(t, id, bodies[i], secret)
		headers[i].Set(webhook.HeaderSequence, "3")
	}
	got := testing.AllocsPerRun(runs, func() {
		check(t, receiver.Handle(t.Context(), headers[handled], bodies[handled]))
	})
	if got > most || handled != runs+1 {
		t.Errorf("%v allocations for each of %d, want at most %d", got, handled, most)
	}
}
