package studio_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/memstore"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// Concurrent calls in two processes with the same database do not exceed the limits of a user.
func TestLimits_holdInAllProcesses(t *testing.T) {
	t.Parallel()
	studiotest.EachDSN(t, func(t *testing.T, dsn string) {
		const most = 10 // of each limit
		clock := studiotest.NewClock()
		cfg := studiotest.Config(studiotest.Open(t, dsn), clock.Now)
		cfg.MaxMediaBytes = most
		other := cfg
		other.Store = studiotest.Open(t, dsn)
		services := []*studio.Service{studio.New(cfg), studio.New(other)}
		for limit, call := range map[error]func(*studio.Service, studio.User) error{
			studio.ErrTooManyTests: func(s *studio.Service, user studio.User) error {
				_, _, err := s.TestWebhook(t.Context(), user.ID, "https://hooks.example.com/", studio.Avatar)
				return err
			},
			studio.ErrTooManySecrets: func(s *studio.Service, user studio.User) error {
				_, err := s.RotateWebhookSecret(t.Context(), user.ID)
				return err
			},
			studio.ErrTooManyReplays: func(s *studio.Service, user studio.User) error {
				_, err := s.ReplayEvents(t.Context(), studio.Replay{
					Filter: studio.EventFilter{UserID: user.ID, From: clock.Now()}, IdempotencyKey: studio.NewID(), // with a key, it may have no event
				})
				return err
			},
			studio.ErrTooMuchMedia: func(s *studio.Service, user studio.User) error {
				_, _, err := s.Upload(t.Context(), user.ID, "audio/wav", strings.NewReader("x"))
				return err
			},
			studio.ErrTooManyTries: func(s *studio.Service, user studio.User) error {
				if _, err := s.Login(t.Context(), netip.Addr{}, user.Email, "guess"); !errors.Is(err, studio.ErrUnauthorized) {
					return err
				}
				return nil // the guess was compared
			},
		} {
			user := studiotest.AddUser(t, services[0], fmt.Sprintf("ada-%d@example.com", len(limit.Error())))
			var calls sync.WaitGroup
			var admitted atomic.Int64
			for i := range 16 { // as many as both processes have connections
				calls.Go(func() {
					switch err := call(services[i%2], user); {
					case err == nil:
						admitted.Add(1)
					case !errors.Is(err, limit):
						t.Error(err)
					}
				})
			}
			calls.Wait()
			n := admitted.Load()
			for call(services[0], user) == nil { // uploads that were rejected because of others in progress
				n++
			}
			if n != most {
				t.Errorf("%v: %d calls are admitted, want %d", limit, n, most)
			}
			for _, passed := range []time.Duration{time.Minute, -studio.LoginMemory} { // a count ends, also if a clock was ahead
				if clock.Add(passed); limit == studio.ErrTooManyTests {
					check(t, call(services[0], user))
				}
			}
		}
	})
}

// A user reaches exactly the limit. After a rendering, another creation is admitted. Other users are not affected.
func TestCreate_limitsCreationsInProgress(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		const limit = 50
		service.MaxInProgress = limit
		ada, bob := studiotest.AddUser(t, service, "ada@example.com"), studiotest.AddUser(t, service, "bob@example.com")
		var last studio.Subject
		create := func(user studio.User) (err error) {
			clock.Add(time.Second)
			last, err = service.CreateLipsync(t.Context(), studio.Creation{UserID: user.ID, Request: []byte("{}")})
			return err
		}
		for range limit - 1 {
			check(t, create(ada))
		}
		for range 2 {
			check(t, create(ada))
			done := last
			err := create(ada)
			if limited, ok := errors.AsType[*studio.Error](err); !ok || !errors.Is(err, studio.ErrTooManyCreations) || limited.RetryAfter <= 0 {
				t.Errorf("one too many is %v", err)
			}
			check(t, create(bob))
			try(service.Rendered(t.Context(), done.ID, studio.Rendering{}, nil))(t)
		}
	})
}

// Concurrent creations in two processes with the same database exceed the limit by at most a twentieth, or one, also if
// a process counts the rows long before it uses the count.
func TestCreate_limitsCreationsInProgressWithLateCounts(t *testing.T) {
	t.Parallel()
	for range 20 {
		synctest.Test(t, func(t *testing.T) { limitsInTwoProcesses(t, slowStore{memstore.New()}) })
	}
}

// slowStore is a store whose creations and counts take random times.
type slowStore struct{ *memstore.Store }

func (s slowStore) CreateSubject(ctx context.Context, subject studio.Subject, key studio.IdempotencyKey) (studio.Subject, error) {
	delay()
	defer delay()
	return s.Store.CreateSubject(ctx, subject, key)
}

func (s slowStore) CreationsInProgress(ctx context.Context, userID string) (int, error) {
	delay()
	defer delay()
	return s.Store.CreationsInProgress(ctx, userID)
}

func delay() { time.Sleep(rand.N([]time.Duration{1, time.Microsecond, time.Millisecond}[rand.N(3)])) }

func limitsInTwoProcesses(t *testing.T, db studio.Store) {
	t.Helper()
	clock := studiotest.NewClock()
	for _, limit := range []int{1, 30} {
		var services [2]*studio.Service
		for i := range services {
			cfg := studiotest.Config(db, clock.Now)
			cfg.MaxInProgress = limit
			services[i] = studio.New(cfg)
		}
		user := studiotest.AddUser(t, services[0], fmt.Sprintf("ada-%d@example.com", limit))
		var creating sync.WaitGroup
		var created atomic.Int64
		create := func(service *studio.Service) error {
			_, err := service.CreateLipsync(t.Context(), studio.Creation{UserID: user.ID, Request: []byte("{}")})
			if err == nil {
				created.Add(1)
			} else if limited, ok := errors.AsType[*studio.Error](err); !ok || limited.RetryAfter <= 0 {
				t.Error(err)
			}
			return err
		}
		for i := range 3*limit + 10 {
			creating.Go(func() { _ = create(services[i%2]) })
		}
		creating.Wait()
		for err := error(nil); err == nil; err = create(services[0]) { // creations that were rejected because of others in progress
			clock.Add(time.Second)
		}
		if n, most := created.Load(), limit+max(1, limit/20); n < int64(limit) || n > int64(most) {
			t.Errorf("%d creations begin, want %d to %d", n, limit, most)
		}
	}
}

// Concurrent uploads of a user do not exceed the limit. A rejected upload leaves no file.
func TestUpload_limitsTheTotalSize(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		service.MaxMediaBytes = 100
		media := service.Media.(*memstore.Media)
		ada, bob := studiotest.AddUser(t, service, "ada@example.com"), studiotest.AddUser(t, service, "bob@example.com")
		upload := func(user studio.User, size int) error {
			_, _, err := service.Upload(t.Context(), user.ID, "audio/wav", strings.NewReader(strings.Repeat("x", size)))
			return err
		}
		var uploading sync.WaitGroup
		for range 20 {
			uploading.Go(func() {
				if err := upload(ada, 30); err != nil && !errors.Is(err, studio.ErrTooMuchMedia) {
					t.Error(err)
				}
			})
		}
		uploading.Wait()
		for range 3 { // uploads that were rejected because of others in progress
			_ = upload(ada, 30)
		}
		wantError(t, upload(ada, 11), studio.ErrTooMuchMedia)
		if keys := media.Keys(); len(keys) != 3 {
			t.Errorf("%d files are kept, want 3", len(keys))
		}
		check(t, upload(ada, 10))
		check(t, upload(bob, 100))
		clock.Add(studio.UploadLifetime)
		check(t, upload(ada, 100))
	})
}

// An upload ends as soon as it exceeds the limit together with one that was stored while it ran. Uploads that begin
// afterwards are limited by the stored ones.
func TestUpload_countsUploadsThatEndMeanwhile(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		service.MaxMediaBytes = 100
		user := studiotest.AddUser(t, service, "ada@example.com")
		upload := func(content io.Reader) error {
			_, _, err := service.Upload(t.Context(), user.ID, "audio/wav", content)
			return err
		}
		source, sent := io.Pipe()
		slow := make(chan error, 1)
		go func() {
			slow <- upload(iotest.OneByteReader(source))
			_ = source.Close() // ends the write below
		}()
		try(sent.Write([]byte("x")))(t)
		check(t, upload(strings.NewReader(strings.Repeat("x", 60))))
		check(t, upload(strings.NewReader(strings.Repeat("x", 20))))
		if n, _ := sent.Write([]byte(strings.Repeat("x", 50))); n != 20 {
			t.Errorf("%d bytes are read after 80 were stored, want those left and one more", 1+n)
		}
		check(t, sent.Close())
		wantError(t, <-slow, studio.ErrTooMuchMedia)
		wantError(t, upload(strings.NewReader(strings.Repeat("x", 21))), studio.ErrTooMuchMedia)
		check(t, upload(strings.NewReader(strings.Repeat("x", 20))))
	})
}
