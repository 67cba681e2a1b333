package studio

import (
	"cmp"
	"context"
	"sync"
	"time"
)

const (
	// MaxStreams limits the open streams of a user in a process.
	MaxStreams = 32
	// feedPage limits the events that a stream reads at once.
	feedPage = 100
	// feedInterval is how often a process looks for the events of other processes.
	feedInterval = 500 * time.Millisecond
	// feedPause is the pause after an error of the store.
	feedPause = time.Second
	// feedReads limits the streams that read at the same time.
	feedReads = 4
)

// feeds wakes open streams when their users may have new events: the store tells of those of this process, and the rest
// are found at intervals.
type feeds struct {
	reads chan struct{} // has a value for each stream that reads

	mu    sync.Mutex
	stop  context.CancelFunc // stops findEvents
	users map[string]*feed   // those with open streams
	open  int                // streams
}

// feed has the open streams of a user.
type feed struct {
	streams map[*eventStream]struct{}
	last    time.Time // of the last event that findEvents has found
}

func newFeeds() feeds {
	return feeds{reads: make(chan struct{}, feedReads), users: make(map[string]*feed)}
}

// findEvents wakes the streams of users with new events until ctx ends. It runs while there are streams. It ignores
// errors, because it reads again.
func (s *Service) findEvents(ctx context.Context) {
	for f := &s.feeds; ctx.Err() == nil; Pause(ctx, feedInterval) {
		last, err := s.Store.LastEvents(ctx, f.all()...)
		if err != nil {
			continue
		}
		f.mu.Lock()
		for id, at := range last {
			if feed := f.users[id]; feed != nil && feed.last.Before(at) {
				feed.last = at
				feed.wake()
			}
		}
		f.mu.Unlock()
	}
}

// all returns the users with open streams.
func (f *feeds) all() (users []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range f.users {
		users = append(users, id)
	}
	return users
}

// wake wakes the streams of users.
func (f *feeds) wake(users []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range users {
		if feed := f.users[id]; feed != nil {
			feed.wake()
		}
	}
}

// wake wakes all streams. feeds.mu must be held.
func (f *feed) wake() {
	for stream := range f.streams {
		Signal(stream.wake)
	}
}

// addStream adds a stream of a user.
func (s *Service) addStream(userID string) (*eventStream, error) {
	f := &s.feeds
	f.mu.Lock()
	defer f.mu.Unlock()
	of := f.users[userID]
	if of == nil {
		of = &feed{streams: make(map[*eventStream]struct{})}
		f.users[userID] = of
	}
	if len(of.streams) >= MaxStreams {
		return nil, ErrTooManyStreams.After(feedPause)
	}
	stream := &eventStream{userID: userID, wake: make(chan struct{}, 1)}
	of.streams[stream] = struct{}{}
	if f.open++; f.open == 1 {
		var ctx context.Context
		ctx, f.stop = context.WithCancel(context.Background())
		go s.findEvents(ctx)
	}
	return stream, nil
}

// Changes returns a channel that receives a value when a user may have new events, until ctx ends. It counts as a
// stream. The error is [ErrTooManyStreams] as for [Service.StreamEvents].
func (s *Service) Changes(ctx context.Context, userID string) (<-chan struct{}, error) {
	stream, err := s.addStream(userID) //nolint:contextcheck // findEvents outlives the stream
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { s.endStream(ctx, stream, nil) })
	return stream.wake, nil
}

// endStream ends a stream for a reason, by default the cause of ctx.
func (s *Service) endStream(ctx context.Context, stream *eventStream, reason error) {
	s.removeStream(stream)
	if s.OnStreamEnd != nil {
		s.OnStreamEnd(ctx, cmp.Or(reason, context.Cause(ctx)))
	}
}

// removeStream removes a stream that addStream has returned.
func (s *Service) removeStream(stream *eventStream) {
	f := &s.feeds
	f.mu.Lock()
	defer f.mu.Unlock()
	of := f.users[stream.userID]
	delete(of.streams, stream)
	if len(of.streams) == 0 {
		delete(f.users, stream.userID)
	}
	if f.open--; f.open == 0 {
		f.stop()
	}
}
