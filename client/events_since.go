package client

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
)

// maxPage is the largest page of a list.
const maxPage = 100

// EventsSince iterates over the events of the user that were recorded since a time, oldest first, and then over further
// events as they occur. It gives each event once: it opens the stream of [Client.StreamEvents] before it lists the
// past, and lists again what the stream may have missed. It passes options to each request. An error is the last item;
// the iteration does not end without one. A program can then continue, even after a restart, with the time of its last
// event, which is repeated.
func (c *Client) EventsSince(ctx context.Context, since time.Time, options ...CallOption) iter.Seq2[*gen.EventRecord, error] {
	return func(yield func(*gen.EventRecord, error) bool) {
		last, stopped := since.Add(-time.Nanosecond), false
		give := func(event *gen.EventRecord, err error) bool {
			switch {
			case err != nil:
				yield(nil, err)
				stopped = true
			case event.CreatedAt.After(last): // else it was given before, because no two events of a user have the same time
				last = event.CreatedAt
				stopped = !yield(event, nil)
			}
			return !stopped
		}
		list := func() bool {
			past := ListEventsParams{Order: new(gen.EventOrderOldest), Since: new(last), Limit: new(maxPage)}
			for event, err := range c.Events(ctx, append(slices.Clip(options), past)...) {
				if !give(event, err) {
					return false
				}
			}
			return true
		}
		// The past is listed when a stream is open, unless it continues after its last event.
		following := append(slices.Clip(options), optionFunc(func(call *call) {
			call.opened = func(resumed bool) bool { return resumed || list() }
		}))
		for !stopped {
			began := time.Now()
			for event, err := range c.StreamEvents(ctx, following...) {
				if err != nil {
					give(nil, err)
					return
				}
				if record := event.Data.EventRecord; record != nil {
					give(record, nil)
				} else { // the events to continue with have expired, or the type is of a later version
					list()
				}
				if stopped {
					return
				}
			}
			// A stream may also end without an error.
			if !stopped && pause(ctx, newCall(c, options).retry.MaxDelay-time.Since(began), nil) != nil {
				give(nil, fmt.Errorf("client: following the events: %w", ctx.Err()))
			}
		}
	}
}
