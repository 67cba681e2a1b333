package studio_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/memstore"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// reader reads a stream of events.
type reader struct {
	t    *testing.T
	next func() (studio.StreamedEvent, error, bool)
	stop func()
	last string // position
}

func openStream(t *testing.T, service *studio.Service, userID, after string) *reader {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	items := try(service.StreamEvents(ctx, userID, after))(t)
	r := &reader{t: t, last: after}
	next, stop := iter.Pull2(items)
	r.next, r.stop = next, func() { cancel(); stop() }
	t.Cleanup(r.stop)
	return r
}

// item returns the next item.
func (r *reader) item() studio.StreamedEvent {
	r.t.Helper()
	item, err, ok := r.next()
	if err != nil || !ok {
		r.t.Fatalf("the stream ends: %v", err)
	}
	r.last = item.Position
	return item
}

// events returns the ids of the next n events.
func (r *reader) events(n int) (ids []string) {
	r.t.Helper()
	for len(ids) < n {
		if item := r.item(); item.Event != nil {
			ids = append(ids, item.Event.ID)
		}
	}
	return ids
}

// begun waits until the stream has read the past events.
func (r *reader) begun() *reader {
	r.t.Helper()
	if item := r.item(); item.Event != nil || item.Position == "" {
		r.t.Fatalf("the first item is %+v", item)
	}
	return r
}

// announce makes n events of a user.
func announce(t *testing.T, service *studio.Service, user studio.User, n int) {
	t.Helper()
	for range n {
		if _, err := service.CreateAvatar(t.Context(), registered(user)); err != nil {
			t.Error(err)
		}
	}
}

// history returns the ids of all events of a user.
func history(t *testing.T, service *studio.Service, user studio.User) (ids []string) {
	t.Helper()
	read := try(service.Store.NewEvents(t.Context(), user.ID, time.Unix(0, 0), 10_000))(t)
	for _, event := range read {
		ids = append(ids, event.ID)
	}
	return ids
}

func wantIDs(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %d events, want %d:\n%s\n\n%s", len(got), len(want), strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A client that reconnects again and again while events occur gets each event once, in order.
func TestStreamEvents_givesEachEventOnceOverReconnects(t *testing.T) {
	t.Parallel()
	const events = 300
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		ada, bob := studiotest.AddUser(t, service, "ada@example.com"), studiotest.AddUser(t, service, "bob@example.com")
		steady, resuming := openStream(t, service, ada.ID, "").begun(), openStream(t, service, ada.ID, "").begun()
		done := make(chan struct{})
		t.Cleanup(func() { <-done })
		go func() {
			defer close(done)
			for range events / 100 {
				announce(t, service, bob, 1)
				announce(t, service, ada, 100)
			}
		}()
		var got []string
		for n := 1; len(got) < events; n++ {
			got = append(got, resuming.events(min(n%17, events-len(got)))...)
			resuming.stop()
			resuming = openStream(t, service, ada.ID, resuming.last)
		}
		<-done
		want := history(t, service, ada)
		wantIDs(t, got, want)
		wantIDs(t, steady.events(events), want)
	})
}

// A stream sends the events of its process at once, and looks for those of others twice a second.
func TestStreamEvents_sendsAnEventOfTheProcessAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := studio.New(studiotest.Config(memstore.New(), time.Now))
		user := studiotest.AddUser(t, service, "ada@example.com")
		stream := openStream(t, service, user.ID, "").begun()
		time.Sleep(time.Second / 4)
		began := time.Now()
		announce(t, service, user, 1)
		stream.events(1)
		if took := time.Since(began); took > 0 {
			t.Errorf("an event is sent after %v", took)
		}
	})
}

// A stream without a position has no past events. What it has before its first event suffices to continue.
func TestStreamEvents_beginsNow(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		for _, before := range []int{0, 2} {
			user := studiotest.AddUser(t, service, fmt.Sprint(before, "@example.com"))
			announce(t, service, user, before)
			stream := openStream(t, service, user.ID, "").begun()
			stream.stop()
			announce(t, service, user, 2)
			clock.Add(studio.Retention * 2 / 3)
			for range 2 {
				resumed := openStream(t, service, user.ID, stream.last)
				wantIDs(t, resumed.events(2), history(t, service, user)[before:])
			}
		}
	})
}

// A client that has no events for longer than the retention, but reconnects, misses nothing.
func TestStreamEvents_keepsThePositionOfAUserWithoutEvents(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		user := studiotest.AddUser(t, service, "ada@example.com")
		announce(t, service, user, 1)
		stream := openStream(t, service, user.ID, "").begun()
		for range 4 {
			stream.stop()
			clock.Add(studio.Retention * 2 / 3)
			stream = openStream(t, service, user.ID, stream.last).begun()
		}
		announce(t, service, user, 1)
		stream.events(1)
	})
}

// Positions are those of events: a clock that is set back hides none.
func TestStreamEvents_missesNothingAfterAWrongClock(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		user := studiotest.AddUser(t, service, "ada@example.com")
		clock.Add(studio.Retention)
		stream := openStream(t, service, user.ID, "").begun()
		clock.Add(-studio.Retention)
		announce(t, service, user, 1)
		wantIDs(t, openStream(t, service, user.ID, stream.last).events(1), history(t, service, user))
		stream.events(1)
	})
}

func TestStreamEvents_saysThatAPositionHasExpired(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		user := studiotest.AddUser(t, service, "ada@example.com")
		stream := openStream(t, service, user.ID, "").begun()
		announce(t, service, user, 3)
		stream.events(1)
		clock.Add(studio.Retention + time.Hour)
		prune(t, service, clock.Now())
		announce(t, service, user, 1)

		resumed := openStream(t, service, user.ID, stream.last)
		if item := resumed.item(); !item.RetainedSince.Equal(clock.Now().Add(-studio.Retention)) || item.Event != nil {
			t.Errorf("the first item is %+v", item)
		}
		said := resumed.last
		want := history(t, service, user)[1:]
		wantIDs(t, resumed.events(len(want)), want)
		wantIDs(t, openStream(t, service, user.ID, said).events(len(want)), want) // says it once
		if item := openStream(t, service, user.ID, said).item(); item.Event == nil {
			t.Errorf("the first item after the one about the expiry is %+v", item)
		}
	})
}

func TestStreamEvents_refusesPositionsOfOthers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		ada, bob := studiotest.AddUser(t, service, "ada@example.com"), studiotest.AddUser(t, service, "bob@example.com")
		announce(t, service, ada, 2)
		page := try(service.List(t.Context(), studio.SubjectFilter{UserID: ada.ID, Kind: studio.Avatar}, "", 1))(t)
		own := openStream(t, service, ada.ID, "").begun().last
		for _, position := range []string{"x", own + "x", own[1:], page.Next, openStream(t, service, bob.ID, "").begun().last} {
			_, err := service.StreamEvents(t.Context(), ada.ID, position)
			wantError(t, err, studio.ErrPosition)
		}
	})
}

// A stream counts until it ends, even if nobody reads it. Each daemon has the limit, as the document and the guide say.
func TestStreamEvents_limitsTheStreamsOfAUser(t *testing.T) {
	t.Parallel()
	var ended atomic.Int32
	cfg := studiotest.Config(memstore.New(), studiotest.NewClock().Now)
	cfg.OnStreamEnd = func(context.Context, error) { ended.Add(1) }
	service := studio.New(cfg)
	ctx, cancel := context.WithCancel(t.Context())
	for range studio.MaxStreams {
		try(service.StreamEvents(ctx, "ada", ""))(t)
	}
	_, err := service.StreamEvents(ctx, "ada", "")
	wantError(t, err, studio.ErrTooManyStreams)
	if limit := (*studio.Error)(nil); !errors.As(err, &limit) || limit.RetryAfter <= 0 {
		t.Errorf("the error is %#v", err)
	}
	try(service.StreamEvents(ctx, "bob", ""))(t)
	another := studio.New(studiotest.Config(cfg.Store, cfg.Now))
	try(another.StreamEvents(ctx, "ada", ""))(t)
	guide := try(os.ReadFile("../web/guide/network.md"))(t)
	for text, of := range map[string]string{string(api.Spec): "%d streams on each server", string(guide): "%d streams of events on each daemon"} {
		if limit := fmt.Sprintf(of, studio.MaxStreams); !strings.Contains(text, limit) {
			t.Errorf("a text does not say %q", limit)
		}
	}
	cancel()
	harness.Eventually(t, "the end of each stream", func() bool { return ended.Load() == studio.MaxStreams+1 })
	for range 2 * studio.MaxStreams {
		openStream(t, service, "ada", "").begun().stop()
	}
}

// faultyStore is a store whose events cannot be read while err is set.
type faultyStore struct {
	studio.Store

	err atomic.Pointer[error]
}

func (s *faultyStore) NewEvents(ctx context.Context, userID string, after time.Time, limit int) ([]studio.EventRecord, error) {
	if err := s.err.Load(); err != nil {
		return nil, *err
	}
	return s.Store.NewEvents(ctx, userID, after, limit)
}

// A stream waits for a database that is down, and ends with any other error.
func TestStreamEvents_survivesAnOutageOfTheDatabase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &faultyStore{Store: memstore.New()}
		reasons := make(chan error, 2)
		cfg := studiotest.Config(db, time.Now)
		cfg.OnStreamEnd = func(_ context.Context, reason error) { reasons <- reason }
		service := studio.New(cfg)
		user := studiotest.AddUser(t, service, "ada@example.com")
		following := openStream(t, service, user.ID, "").begun()
		announce(t, service, user, 1)
		position := following.last
		following.events(1)

		db.err.Store(new(error(studio.ErrBusy)))
		announce(t, service, user, 3)
		resuming := openStream(t, service, user.ID, position)
		time.AfterFunc(10*time.Second, func() { db.err.Store(nil) })
		began := time.Now()
		wantIDs(t, resuming.events(4), history(t, service, user))
		wantIDs(t, following.events(3), history(t, service, user)[1:])
		if took := time.Since(began); took < 10*time.Second || took > 10*time.Second+2*time.Second {
			t.Errorf("the events came after %v", took)
		}

		broken := errors.New("broken")
		db.err.Store(&broken)
		announce(t, service, user, 1)
		for _, stream := range []*reader{following, resuming} {
			if _, err, _ := stream.next(); !errors.Is(err, broken) {
				t.Errorf("the stream ends with %v", err)
			}
			stream.stop()
			wantError(t, <-reasons, broken)
		}
	})
}

// A deletion ends the events of a subject that were not sent. A stream does not have them either.
func TestStreamEvents_omitsEventsOfDeletedSubjects(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		user := studiotest.AddUser(t, service, "ada@example.com")
		stream := openStream(t, service, user.ID, "").begun()
		deleted := try(service.CreateAvatar(t.Context(), registered(user)))(t)
		before := stream.last
		stream.events(1)
		check(t, service.Delete(t.Context(), user.ID, studio.Avatar, deleted.ID))
		announce(t, service, user, 1)
		wantIDs(t, openStream(t, service, user.ID, before).events(1), stream.events(1))
	})
}
