package studio

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// MaxStreams limits the open streams of a user in a process.
	MaxStreams = 32
	// maxQueued limits the events that wait for the reader of a stream. A stream with more of them reads them from the
	// store instead.
	maxQueued = 128
	// feedPage limits the events of a user that are read at once, and feedBatch the users.
	feedPage  = 100
	feedBatch = 100
	// feedInterval is how often the hub looks for events whose signal was lost.
	feedInterval = time.Second
	// feedPause is the pause after an error of the store.
	feedPause = time.Second
	// watchInterval is how often the store is told that there are streams.
	watchInterval = 20 * time.Second
	// catchUps limits the streams that read past events at the same time.
	catchUps = 4
)

// feeds passes new events to open streams. It reads the events of a user once for all streams of the user, in a goroutine
// that runs while there are streams.
type feeds struct {
	catchUps chan struct{} // has a value for each stream that reads past events
	begun    chan struct{} // receives a value after a feed has begun
	sent     atomic.Uint64 // items of all streams

	mu      sync.Mutex
	stop    context.CancelFunc // stops runFeeds
	users   map[string]*feed   // those with open streams
	changed []*feed            // those that may have new events
	open    int                // streams
}

// feed has the open streams of a user. It begins when the first stream has read the past events: then last is the position
// of the last event that was read for the streams that follow.
type feed struct {
	userID    string
	streams   map[*eventStream]struct{}
	following int
	last      time.Time // zero if no stream follows
	changed   bool      // whether it is in feeds.changed
}

func newFeeds() feeds {
	return feeds{catchUps: make(chan struct{}, catchUps), begun: make(chan struct{}, 1), users: make(map[string]*feed)}
}

// StreamCounts returns the number of open streams, and of the items that all streams have sent.
func (s *Service) StreamCounts() (open int, sent uint64) {
	s.feeds.mu.Lock()
	defer s.feeds.mu.Unlock()
	return s.feeds.open, s.feeds.sent.Load()
}

// runFeeds passes new events to the open streams until ctx ends. It runs while there are streams.
func (s *Service) runFeeds(ctx context.Context) {
	ticker := time.NewTicker(feedInterval)
	defer ticker.Stop()
	var watched time.Time
	for ctx.Err() == nil {
		var err error
		if now := time.Now(); now.Sub(watched) >= watchInterval && s.Store.WatchEvents(ctx) == nil {
			watched, err = now, s.findEvents(ctx) // those before that
		}
		if errors.Join(err, s.readFeeds(ctx)) != nil {
			Pause(ctx, feedPause)
		}
		select {
		case <-ctx.Done():
		case <-s.Store.EventSignal():
			s.feeds.markUsers(s.Store.TakeChangedUsers())
		case <-s.feeds.begun:
		case <-ticker.C:
			_ = s.findEvents(ctx) // it is called again
		}
	}
}

// findEvents marks the feeds that have events which were not read.
func (s *Service) findEvents(ctx context.Context) error {
	last, err := s.Store.LastEvents(ctx, s.feeds.followed()...)
	s.feeds.markBefore(last)
	return err
}

// readFeeds reads the events of the feeds that have changed. After an error of the store that a retry may not solve, the
// streams read for themselves, so that each ends with the error.
func (s *Service) readFeeds(ctx context.Context) error {
	for {
		queries := s.feeds.takeChanged()
		if len(queries) == 0 {
			return nil
		}
		read, err := s.Store.NewEvents(ctx, queries)
		if err != nil {
			s.feeds.undo(queries, errors.Is(err, ErrBusy) || ctx.Err() != nil)
			return err
		}
		for i, query := range queries {
			if len(read[i]) > 0 {
				s.feeds.push(query, s.streamedEvents(query.UserID, read[i]))
			}
		}
	}
}

// streamedEvents returns the items of a stream for events.
func (s *Service) streamedEvents(userID string, events []EventRecord) []*StreamedEvent {
	items := make([]*StreamedEvent, len(events))
	for i := range events {
		e := &events[i]
		items[i] = &StreamedEvent{Position: s.cursor(streamList(userID), Position{e.CreatedAt, e.ID}), Event: e}
	}
	return items
}

// markUsers marks the feeds of users as changed.
func (f *feeds) markUsers(users []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range users {
		f.mark(f.users[id])
	}
}

// followed returns the users whose feeds a stream follows.
func (f *feeds) followed() (users []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, feed := range f.users {
		if !feed.last.IsZero() {
			users = append(users, id)
		}
	}
	return users
}

// markBefore marks the feeds of users whose last event was later than the last one that was read.
func (f *feeds) markBefore(last map[string]time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, at := range last {
		if feed := f.users[id]; feed != nil && feed.last.Before(at) {
			f.mark(feed)
		}
	}
}

// mark marks a feed as changed. f.mu must be held.
func (f *feeds) mark(feed *feed) {
	if feed != nil && !feed.changed && !feed.last.IsZero() {
		feed.changed = true
		f.changed = append(f.changed, feed)
	}
}

// takeChanged returns queries for the new events of feeds that have changed.
func (f *feeds) takeChanged() []FeedQuery {
	f.mu.Lock()
	defer f.mu.Unlock()
	var queries []FeedQuery
	for len(f.changed) > 0 && len(queries) < feedBatch {
		feed := f.changed[0]
		f.changed = f.changed[1:]
		feed.changed = false
		if !feed.last.IsZero() {
			queries = append(queries, FeedQuery{feed.userID, feed.last, feedPage})
		}
	}
	return queries
}

// undo undoes takeChanged. Unless retry is true, all streams leave the feeds.
func (f *feeds) undo(queries []FeedQuery, retry bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, query := range queries {
		feed := f.users[query.UserID]
		if retry {
			f.mark(feed)
		} else if feed != nil {
			for stream := range feed.streams {
				stream.leave()
			}
		}
	}
}

// push passes the events that a query returned to the streams that follow.
func (f *feeds) push(query FeedQuery, events []*StreamedEvent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	feed := f.users[query.UserID]
	if feed == nil || !feed.last.Equal(query.After) { // it has ended, and another one may have begun
		return
	}
	feed.last = events[len(events)-1].Event.CreatedAt
	for stream := range feed.streams {
		stream.push(events)
	}
	if len(events) == query.Limit {
		f.mark(feed)
	}
}

// addStream adds a stream of a user.
func (s *Service) addStream(userID string) (*eventStream, error) {
	f := &s.feeds
	f.mu.Lock()
	defer f.mu.Unlock()
	of := f.users[userID]
	if of == nil {
		of = &feed{userID: userID, streams: make(map[*eventStream]struct{})}
		f.users[userID] = of
	}
	if len(of.streams) >= MaxStreams {
		return nil, ErrTooManyStreams.After(feedPause)
	}
	stream := &eventStream{feed: of, wake: make(chan struct{}, 1)}
	of.streams[stream] = struct{}{}
	if f.open++; f.open == 1 {
		var ctx context.Context
		ctx, f.stop = context.WithCancel(context.Background())
		go s.runFeeds(ctx)
	}
	return stream, nil
}

// removeStream removes a stream that addStream has returned.
func (s *Service) removeStream(stream *eventStream) {
	f := &s.feeds
	f.mu.Lock()
	defer f.mu.Unlock()
	stream.leave()
	delete(stream.feed.streams, stream)
	if len(stream.feed.streams) == 0 {
		delete(f.users, stream.feed.userID)
	}
	if f.open--; f.open == 0 {
		f.stop()
	}
}

// follow makes a stream follow its feed, if it has read all events that were passed to the others. It returns the position
// of the feed.
func (f *feeds) follow(stream *eventStream) (last time.Time, following bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	feed := stream.feed
	if feed.last.IsZero() && stream.readAll {
		feed.last = stream.position
		f.mark(feed) // there may be events that nobody has read since
		Signal(f.begun)
	}
	if !feed.last.IsZero() && !stream.position.Before(feed.last) {
		stream.following = true
		feed.following++
	}
	stream.readAll = false
	return feed.last, stream.following
}

// take returns the events in the queue of a stream, and whether it follows the feed.
func (f *feeds) take(stream *eventStream) (queue []*StreamedEvent, following bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	queue, stream.queue = stream.queue, nil
	return queue, stream.following
}

// push passes events to a stream if it follows its feed. feeds.mu must be held.
func (e *eventStream) push(events []*StreamedEvent) {
	switch {
	case !e.following:
	case len(e.queue)+len(events) > maxQueued:
		e.leave()
	default:
		e.queue = append(e.queue, events...)
		Signal(e.wake)
	}
}

// leave makes a stream read from the store again. feeds.mu must be held.
func (e *eventStream) leave() {
	if !e.following {
		return
	}
	e.following, e.queue = false, nil
	if e.feed.following--; e.feed.following == 0 {
		e.feed.last = time.Time{}
	}
	Signal(e.wake)
}
