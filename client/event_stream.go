package client

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
)

const (
	// maxOpening is how long a wait waits for the stream before it polls. A proxy may hold back the response.
	maxOpening = 2 * time.Second

	// refusalMemory is how long waits only poll after a service that has no stream for them.
	refusalMemory = time.Minute
)

// eventStreams holds the stream of events that the waits of a Client share. It is open while there are waits.
type eventStreams struct {
	client *Client

	mu      sync.Mutex
	waits   int
	current *eventStream // nil without waits
	retryAt time.Time    // no stream is opened before
}

// eventStream is the stream from the first of overlapping waits to the last.
type eventStream struct {
	end     context.CancelFunc
	state   streamState   // guarded by eventStreams.mu
	changed chan struct{} // closed when state changes, or when an event may have been missed; guarded by eventStreams.mu
}

type streamState int

const (
	streamOpening streamState = iota
	streamOpen                // every event arrives
	streamClosed              // waits must poll
)

// listen makes events arrive until leave is called, as far as the service sends them. arriving reports whether they do. It
// also returns a channel that is closed when that changes, or when an event may have been missed.
func (c *Client) listen(ctx context.Context) (arriving func() (bool, <-chan struct{}), leave func()) {
	if c.streams == nil {
		return func() (bool, <-chan struct{}) { return c.receives, nil }, func() {}
	}
	s := c.streams.join(ctx)
	if state, changed := c.streams.stateOf(s); state == streamOpening {
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return func() (bool, <-chan struct{}) {
		state, changed := c.streams.stateOf(s)
		return state == streamOpen, changed
	}, c.streams.leave
}

// join opens the stream unless it is open. The stream does not end with ctx, because other waits may need it. The caller must
// call leave.
func (e *eventStreams) join(ctx context.Context) *eventStream {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.waits++; e.waits == 1 {
		ctx, end := context.WithCancel(context.WithoutCancel(ctx))
		e.current = &eventStream{end: end, changed: make(chan struct{})}
		if time.Now().Before(e.retryAt) {
			e.current.state = streamClosed
		}
		go e.run(ctx, e.current)
	}
	return e.current
}

// leave closes the stream after the last wait.
func (e *eventStreams) leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.waits--; e.waits == 0 {
		e.current.end()
		e.current = nil
	}
}

// stateOf returns the state of a stream and the channel that is closed with its next change.
func (e *eventStreams) stateOf(s *eventStream) (streamState, <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return s.state, s.changed
}

// run keeps a stream open until ctx ends.
func (e *eventStreams) run(ctx context.Context, s *eventStream) {
	slow := time.AfterFunc(maxOpening, func() {
		if state, _ := e.stateOf(s); state == streamOpening {
			e.closed(s, refusalMemory)
		}
	})
	defer slow.Stop()
	for {
		e.mu.Lock()
		delay := time.Until(e.retryAt)
		e.mu.Unlock()
		if pause(ctx, delay, nil) != nil {
			return
		}
		err := e.client.follow(ctx, func(resumed bool) { e.opened(s, resumed) }, func(data gen.StreamEventsData) bool {
			if data.EventRecord != nil {
				e.client.events.notify(data.EventRecord.Notification)
			} else if data.EventsExpired != nil { // older events are missing
				e.opened(s, false)
			}
			return true
		})
		if ctx.Err() != nil {
			return
		}
		delay = refusalMemory
		if state, _ := e.stateOf(s); state == streamOpen {
			delay = e.client.retry.MaxDelay
		}
		e.client.logger.DebugContext(ctx, "no stream of events, waits poll", "retry", delay, "err", err)
		e.closed(s, max(delay, retryAfterOf(err)))
	}
}

func (e *eventStreams) opened(s *eventStream, resumed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.retryAt = time.Time{}
	if s.state != streamOpen || !resumed {
		s.set(streamOpen)
	}
}

// closed makes waits poll, and opens no stream for the delay.
func (e *eventStreams) closed(s *eventStream, delay time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.retryAt = time.Now().Add(delay)
	if s.state != streamClosed {
		s.set(streamClosed)
	}
}

// set sets the state. eventStreams.mu must be held.
func (s *eventStream) set(state streamState) {
	s.state = state
	close(s.changed)
	s.changed = make(chan struct{})
}

// follow calls give for the events of the stream, and opened when a connection begins, until the stream fails, give returns
// false or ctx ends. It opens the stream again if the service ends it without an error, as it does when it shuts down.
func (c *Client) follow(
	ctx context.Context, opened func(resumed bool), give func(gen.StreamEventsData) bool, options ...CallOption,
) error {
	options = append(slices.Clip(options), optionFunc(func(call *call) { call.opened = opened }))
	for resume := options; ; {
		began := time.Now()
		for event, err := range c.StreamEvents(ctx, resume...) {
			if err != nil {
				return err
			}
			if event.ID != "" {
				resume = append(slices.Clip(options), After(event.ID))
			}
			if !give(event.Data) {
				return nil
			}
		}
		if pause(ctx, c.retry.MaxDelay-time.Since(began), nil) != nil {
			return ctx.Err()
		}
	}
}
