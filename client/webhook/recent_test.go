package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
)

func TestReceiver_detectsStaleEvents(t *testing.T) {
	t.Parallel()
	const (
		avatar  = `{"event_type":"avatar_event","data":{"avatar_id":"s-1","status":"published"}}`
		another = `{"event_type":"avatar_event","data":{"avatar_id":"s-2","status":"published"}}`
		video   = `{"event_type":"avatar_inference_event","data":{"inference_id":"s-1","status":"failed"}}`
		lipsync = `{"event_type":"lipsync_inference_event","data":{"inference_id":"s-1","status":"failed"}}`
	)
	boom := errors.New("boom")
	type delivery struct {
		body, id string
		sequence string
		err      error // result of the callback
		outcome  string
	}
	for name, deliveries := range map[string][]delivery{
		"in order":              {{avatar, "a", "1", nil, "handled"}, {avatar, "b", "2", nil, "handled"}, {avatar, "c", "9", nil, "handled"}, {avatar, "d", "5", nil, "stale"}},
		"below":                 {{avatar, "b", "2", nil, "handled"}, {avatar, "a", "1", nil, "stale"}, {avatar, "c", "3", nil, "handled"}},
		"the stale one again":   {{avatar, "b", "2", nil, "handled"}, {avatar, "a", "1", nil, "stale"}, {avatar, "a", "1", nil, "dropped"}},
		"another kind":          {{avatar, "a", "2", nil, "handled"}, {video, "b", "1", nil, "handled"}, {lipsync, "c", "1", nil, "handled"}, {video, "d", "1", nil, "stale"}, {lipsync, "e", "1", nil, "stale"}},
		"not handled":           {{avatar, "b", "2", boom, "handled"}, {avatar, "a", "1", nil, "handled"}, {avatar, "b", "2", nil, "handled"}},
		"without a sequence":    {{avatar, "b", "2", nil, "handled"}, {avatar, "a", "", nil, "handled"}, {avatar, "c", "0", nil, "handled"}},
		"without an id":         {{avatar, "b", "2", nil, "handled"}, {avatar, "", "5", nil, "handled"}, {avatar, "c", "3", nil, "handled"}},
		"unlisted type":         {{unlisted, "b", "2", nil, "handled"}, {unlisted, "a", "1", nil, "handled"}},
		"sequence out of range": {{avatar, "b", "9223372036854775808", nil, "handled"}, {avatar, "a", "1", nil, "handled"}},
	} {
		called := &recorder{}
		handlers := called.handlers()
		var stale []string
		handlers.Stale = func(_ context.Context, event gen.Event, delivery webhook.Delivery) {
			stale = append(stale, fmt.Sprint(event.EventType, string(event.Data), delivery.ID, delivery.Sequence))
		}
		receiver := newReceiver(t, handlers, webhook.Unverified())
		for i, d := range deliveries {
			called.calls, called.err, stale = nil, d.err, nil
			if err := receiver.Handle(t.Context(), numbered(d.id, d.sequence), []byte(d.body)); !errors.Is(err, d.err) {
				t.Errorf("%s: delivery %d: error %v", name, i, err)
			}
			outcome := map[[2]int]string{{1, 0}: "handled", {0, 1}: "stale", {0, 0}: "dropped"}[[2]int{len(called.calls), len(stale)}]
			if outcome != d.outcome {
				t.Errorf("%s: delivery %d was %s, want %s", name, i, outcome, d.outcome)
			}
			for _, got := range stale {
				if d.body == avatar && got != `avatar_event{"avatar_id":"s-1","status":"published"}`+d.id+d.sequence {
					t.Errorf("%s: Stale was given %s", name, got)
				}
			}
		}
	}
}

// The hook Stale is optional, and the receiver stores at least 10,000 subjects.
func TestReceiver_dropsStaleEventsWithoutHook(t *testing.T) {
	t.Parallel()
	called := &recorder{}
	receiver := newReceiver(t, called.handlers(), webhook.Unverified())
	receiver.Claims = nil
	deliver := func(subject int, id, sequence string) int {
		t.Helper()
		called.calls = nil
		body := `{"event_type":"avatar_event","data":{"avatar_id":"` + strconv.Itoa(subject) + `","status":"failed"}}`
		check(t, receiver.Handle(t.Context(), numbered(id, sequence), []byte(body)))
		return len(called.calls)
	}
	for subject := range 10_001 {
		if deliver(subject, "b", "2") != 1 {
			t.Fatalf("subject %d was not handled", subject)
		}
	}
	for _, remembered := range []int{1, 10_000} {
		if deliver(remembered, "b", "2") != 1 || deliver(remembered, "a", "1") != 0 {
			t.Errorf("subject %d was forgotten, or its last event is stale when it comes again", remembered)
		}
	}
}

// If an earlier event is handled after a later one, the later one is still the last.
func TestReceiver_remembersTheLatestOfOverlappingEvents(t *testing.T) {
	t.Parallel()
	const body = `{"event_type":"avatar_event","data":{"avatar_id":"s-1","status":"published"}}`
	var receiver *webhook.Receiver
	var handled []int64
	receiver = newReceiver(t, webhook.Handlers{
		Avatar: func(ctx context.Context, _ gen.AvatarEvent, delivery webhook.Delivery) error {
			handled = append(handled, delivery.Sequence)
			if delivery.Sequence == 1 {
				return receiver.Handle(ctx, numbered("b", "2"), []byte(body))
			}
			return nil
		},
	}, webhook.Unverified())
	check(t, receiver.Handle(t.Context(), numbered("a", "1"), []byte(body)))
	check(t, receiver.Handle(t.Context(), numbered("c", "2"), []byte(body)))
	if diff := cmp.Diff([]int64{1, 2}, handled); diff != "" {
		t.Error(diff)
	}
}
