package studio

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strconv"
	"strings"
	"time"
)

// readPrefix begins the ID in the position of an item that is not an event. The time at which all events up to the
// position were read follows. The position itself is that of an event, because the clock of this process may be wrong.
const readPrefix = "read "

// readPosition returns a position up to which all events were read at a time.
func readPosition(position, at time.Time) Position {
	return Position{position, readPrefix + strconv.FormatInt(at.UnixMicro(), 10)}
}

// readTime returns when all events up to a position were read, or the time of the event at the position.
func readTime(p Position) time.Time {
	if text, ok := strings.CutPrefix(p.ID, readPrefix); ok {
		if at, err := strconv.ParseInt(text, 10, 64); err == nil {
			return time.UnixMicro(at)
		}
	}
	return p.CreatedAt
}

// StreamedEvent is an item of a stream: an event, or the time since which events are retained, or only a position.
type StreamedEvent struct {
	// Position is where a stream continues after this item. It is opaque, and the same in all processes.
	Position string
	// Event is nil for the other items.
	Event *EventRecord
	// RetainedSince is not zero if events after the position at which the stream began may have been deleted, because
	// they ended before this time. It is the first item of the stream.
	RetainedSince time.Time
}

// StreamEvents returns the events of a user as they occur, until ctx ends. Each event has a later position than the one
// before it, and follows all earlier events of its subject. The stream begins after the position of an item, or now if
// after is "". It has no events that ended because their subject was deleted.
//
// The first item that has only a position says that all past events were sent. If the user has no new ones, a client
// can continue there.
//
// The error is [ErrPosition] if the position is not one of this user, and [ErrTooManyStreams] if the user has
// [MaxStreams] streams in this process. The iterator can be used once. It ends with an error: the cause of ctx, or that
// of the store, but not [ErrBusy]: then the stream waits and continues.
func (s *Service) StreamEvents(ctx context.Context, userID, after string) (iter.Seq2[StreamedEvent, error], error) {
	var from Position
	if after != "" {
		var ok bool
		if from, ok = s.parseCursor(streamList(userID), after); !ok {
			return nil, ErrPosition
		}
	}
	stream, err := s.addStream(userID) //nolint:contextcheck // findEvents outlives the stream
	if err != nil {
		return nil, err
	}
	stream.position, stream.told, stream.read = from.CreatedAt, from.CreatedAt, readTime(from)
	stream.workspace = onlyWorkspace(ctx)
	if after == "" {
		var last map[string]time.Time
		var err error
		OnOwnStack(func() { last, err = s.Store.LastEvents(ctx, userID) })
		if err != nil {
			s.removeStream(stream)
			return nil, err
		}
		if stream.position = last[userID]; stream.position.IsZero() {
			stream.position = time.UnixMicro(0) // before the first event
		}
	}
	neverRead := context.AfterFunc(ctx, func() { s.endStream(ctx, stream, nil) })
	now := s.now()
	since := now.Add(-Retention)
	return func(yield func(StreamedEvent, error) bool) {
		if !neverRead() {
			yield(StreamedEvent{}, context.Cause(ctx))
			return
		}
		var reason error
		defer func() { s.endStream(ctx, stream, reason) }()
		if after != "" && stream.read.Before(since) {
			stream.read = now
			position := s.cursor(streamList(userID), readPosition(from.CreatedAt, now))
			if !s.sendItems(ctx, yield, StreamedEvent{Position: position, RetainedSince: since}) {
				return
			}
		}
		for {
			items, err := s.nextItems(ctx, stream)
			if err = cmp.Or(context.Cause(ctx), err); err != nil {
				reason = err
				yield(StreamedEvent{}, err)
				return
			}
			if len(items) > 0 && !s.sendItems(ctx, yield, items...) {
				return
			}
		}
	}, nil
}

// sendItems yields items until ctx ends. It returns false after yield has.
func (s *Service) sendItems(ctx context.Context, yield func(StreamedEvent, error) bool, items ...StreamedEvent) (more bool) {
	more = true
	OnOwnStack(func() { // yield encodes and writes an item
		for _, item := range items {
			if ctx.Err() != nil {
				return
			}
			if more = yield(item, nil); !more {
				return
			}
		}
	})
	return more
}

// streamList identifies the stream of a user in positions.
func streamList(userID string) string { return string(frame("event stream", userID)) }

// eventStream is an open stream of a user.
type eventStream struct {
	userID    string
	workspace string        // of the client; see [OnlyWorkspace]
	wake      chan struct{} // receives a value when the user may have new events
	position  time.Time     // up to which the stream has read
	told      time.Time     // the position that the client knows
	read      time.Time     // when all events up to told were read
	readAll   bool          // whether there were no more events
}

// nextItems waits until a stream may have new events, and reads a page of them. If there are no more, an item has the
// position of the stream, unless the client knows it. There may be no items.
func (s *Service) nextItems(ctx context.Context, stream *eventStream) (items []StreamedEvent, err error) {
	if stream.readAll {
		select {
		case <-ctx.Done():
			return nil, nil
		case <-stream.wake:
		}
	}
	select {
	case <-ctx.Done():
		return nil, nil
	case s.feeds.reads <- struct{}{}:
	}
	var events []EventRecord
	OnOwnStack(func() { events, err = s.Store.NewEvents(ctx, stream.userID, stream.position, feedPage) })
	<-s.feeds.reads
	if errors.Is(err, ErrBusy) {
		Pause(ctx, feedPause)
		Signal(stream.wake)
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	list := streamList(stream.userID)
	for i := range events {
		e := &events[i]
		if stream.position = e.CreatedAt; stream.workspace == "" || stream.workspace == e.WorkspaceID {
			stream.told, stream.read = e.CreatedAt, e.CreatedAt
			items = append(items, StreamedEvent{Position: s.cursor(list, Position{e.CreatedAt, e.ID}), Event: e})
		}
	}
	behind := !stream.readAll
	if stream.readAll = len(events) < feedPage; behind && stream.readAll {
		if now := s.now(); !stream.position.Equal(stream.told) || now.Sub(stream.read) > Retention/2 {
			stream.told, stream.read = stream.position, now
			items = append(items, StreamedEvent{Position: s.cursor(list, readPosition(stream.position, now))})
		}
	}
	return items, nil
}

// OnOwnStack calls f in another goroutine. Work that needs a deep stack runs so before and during a stream: the
// goroutine of the stream would keep the stack for as long as the stream is open.
func OnOwnStack(f func()) {
	done := make(chan any)
	go func() {
		defer func() { done <- recover() }()
		f()
	}()
	if panicked := <-done; panicked != nil {
		panic(panicked)
	}
}
