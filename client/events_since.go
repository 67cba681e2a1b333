package client

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
)

// EventsSince iterates over the events of the user that were recorded since a time, oldest first, and then over further
// events as they occur. It gives each event once: it opens the stream of [Client.StreamEvents] before it lists the
// past, and lists again what the stream may have missed. It passes options to each request. An error is the last item;
// the iteration does not end without one. A program can then continue, even after a restart, with the time of its last
// event, which is repeated.
func (c *Client) EventsSince(ctx context.Context, since time.Time, options ...CallOption) iter.Seq2[*gen.EventRecord, error] {
	return func(yield func(*gen.EventRecord, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		last := since.Add(-time.Nanosecond)
		give := func(event *gen.EventRecord) bool {
			if !event.CreatedAt.After(last) { // it was listed, because no two events of a user have the same time
				return true
			}
			last = event.CreatedAt
			return yield(event, nil)
		}
		received, failed := c.receive(ctx, options)
		for event := range received {
			if event != nil {
				if !give(event) {
					return
				}
				continue
			}
			past := ListEventsParams{Order: new(gen.EventOrderOldest), Since: new(last), Limit: new(maxPage)}
			for event, err := range c.Events(ctx, append(slices.Clip(options), past)...) {
				if err != nil {
					yield(nil, err)
					return
				}
				if !give(event) {
					return
				}
			}
		}
		yield(nil, <-failed)
	}
}

// maxPage is the largest page of a list.
const maxPage = 100

// receive receives the events of the stream in another goroutine, so that the stream is open while the caller lists the
// past. A nil event means that earlier ones must be listed. The error follows when the events end. The stream is opened
// again if the service ends it without an error, as it does when it shuts down.
func (c *Client) receive(ctx context.Context, options []CallOption) (<-chan *gen.EventRecord, <-chan error) {
	received, failed := make(chan *gen.EventRecord), make(chan error, 1)
	send := func(event *gen.EventRecord) {
		select {
		case received <- event:
		case <-ctx.Done():
		}
	}
	options = append(slices.Clip(options), optionFunc(func(call *call) {
		call.opened = func(resumed bool) {
			if !resumed {
				send(nil)
			}
		}
	}))
	go func() {
		defer close(received)
		for {
			began := time.Now()
			for event, err := range c.StreamEvents(ctx, options...) {
				if err != nil && ctx.Err() == nil {
					failed <- err
					return
				}
				if err == nil {
					send(event.Data.EventRecord)
				}
			}
			if pause(ctx, c.retry.MaxDelay-time.Since(began), nil) != nil {
				failed <- fmt.Errorf("client: following the events: %w", ctx.Err())
				return
			}
		}
	}()
	return received, failed
}
