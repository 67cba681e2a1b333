package store_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// rounds is how often a test repeats concurrent calls to hit a race.
const rounds = 8

// concurrently calls functions at the same time and waits for them.
func concurrently(functions ...func()) {
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	for _, f := range functions {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-begin
			f()
		})
	}
	ready.Wait()
	close(begin)
	done.Wait()
}

// repeat returns n functions that call f with 0 to n-1.
func repeat(n int, f func(i int)) []func() {
	functions := make([]func(), n)
	for i := range functions {
		functions[i] = func() { f(i) }
	}
	return functions
}

// event appends the next event to a subject.
func event(s *studio.Subject) {
	s.Sequence++
	s.Events = append(s.Events, studio.Event{
		ID: fmt.Sprintf("%s-%d", s.ID, s.Sequence), SubjectID: s.ID, Sequence: s.Sequence, Body: []byte(`{}`), CreatedAt: noon(),
	})
}

func TestStore_UpdateSubject_numbersEventsWithoutGaps(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		create(t, db, subject("a", 0))
		const total = 8 // as many as there are connections
		concurrently(repeat(total, func(int) {
			_, err := db.UpdateSubject(t.Context(), "a", func(s *studio.Subject) error {
				event(s)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})...)
		for want := range int64(total) {
			next := nextDelivery(t, db, "a")
			if next.Event.Sequence != want+1 {
				t.Fatalf("event %d has the sequence %d", want+1, next.Event.Sequence)
			}
			check(t, recordAttempt(t.Context(), db, next.Event, studio.Attempt{At: noon()}, store.Outcome{State: studio.EventDelivered}))
		}
	})
}

// An event that is added during the record of the event before it becomes due.
func TestStore_Record_keepsAConcurrentEventDue(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		for i := range 2 * rounds {
			id := fmt.Sprint(i)
			s := subject(id, 1)
			create(t, db, s)
			recorded := make(chan error, 1)
			_, err := db.UpdateSubject(t.Context(), id, func(changed *studio.Subject) error {
				go func() {
					recorded <- recordAttempt(t.Context(), db, s.Events[0], studio.Attempt{At: noon()}, store.Outcome{State: studio.EventDelivered})
				}()
				event(changed)
				select { // gives the other transaction time to reach the lock
				case err := <-recorded:
					recorded <- err
				case <-time.After(time.Duration(i%4) * time.Millisecond):
				}
				return nil
			})
			check(t, err)
			check(t, <-recorded)
			due := db.NextDue(t, store.DeliverAt)
			if !slices.ContainsFunc(due, func(d store.Due) bool { return d.SubjectID == id }) {
				t.Fatal("the second event is not due")
			}
		}
	})
}

func TestStore_RotateRefreshToken_succeedsOnceForConcurrentCalls(t *testing.T) {
	t.Parallel()
	withUserInEachStore(t, func(t *testing.T, db studio.Store) {
		for round := range rounds {
			first := token(round, "first")
			check(t, db.AddRefreshToken(t.Context(), first, "", noon()))
			var worked atomic.Int32
			concurrently(repeat(4, func(i int) {
				_, err := db.RotateRefreshToken(t.Context(), first.Hash, noon(), token(round, fmt.Sprint(i)))
				if err == nil {
					worked.Add(1)
				} else if !errors.Is(err, studio.ErrUnauthorized) {
					t.Error(err)
				}
			})...)
			if worked.Load() != 1 {
				t.Errorf("a token worked %d times", worked.Load())
			}
			for i := range 4 { // the family is revoked
				_, err := db.RotateRefreshToken(t.Context(), token(round, fmt.Sprint(i)).Hash, noon(), token(round, "last"))
				wantError(t, err, studio.ErrUnauthorized)
			}
		}
	})
}

// token returns a refresh token of the user ada.
func token(round int, name string) studio.RefreshToken {
	return studio.RefreshToken{
		Hash: fmt.Appendf(nil, "%d %s", round, name), Family: fmt.Sprint("family ", round), UserID: "ada", ExpiresAt: noon().Add(time.Hour),
	}
}

// The end of a session, such as by the reuse of a token, ends a token that is issued concurrently, and another password
// also that of a login.
func TestStore_RotateRefreshToken_issuesNothingForEndedSessions(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		for round := range 4 * rounds {
			first := token(round, "first")
			check(t, db.SetPassword(t.Context(), "ada", "", "old", studio.RefreshToken{}, noon()))
			check(t, db.AddRefreshToken(t.Context(), first, "old", noon()))
			rotate := func(from, to string) error {
				return errorOf(db.RotateRefreshToken(t.Context(), token(round, from).Hash, noon(), token(round, to)))
			}
			check(t, rotate("first", "second"))
			concurrently(append([][]func(){
				{func() { wantError(t, rotate("first", "stolen"), studio.ErrUnauthorized) }},
				{func() { wantError(t, db.DeleteFamily(t.Context(), first.Hash, noon()), nil) }},
				{func() { wantError(t, db.DeleteFamilyOf(t.Context(), "ada", first.Family, noon()), nil) }},
				{
					func() { _ = db.AddRefreshToken(t.Context(), token(round, "login"), "old", noon()) },
					func() {
						wantError(t, db.SetPassword(t.Context(), "ada", "", "new", studio.RefreshToken{}, noon()), nil)
					},
				},
			}[round%4], func() { _ = rotate("second", "third") })...) // succeeds if it runs first
			for _, name := range []string{"third", "second", "login"} {
				wantError(t, rotate(name, "fourth"), studio.ErrUnauthorized)
			}
		}
	})
}

func TestStore_AddWebhookSecret_keepsOneWithoutExpiry(t *testing.T) {
	t.Parallel()
	studiotest.EachStore(t, func(t *testing.T, db studio.Store) {
		for round := range rounds {
			user := fmt.Sprint(round)
			check(t, db.CreateUser(t.Context(), studio.User{ID: user, Email: user, CreatedAt: noon()}))
			add := func(most int) []func() {
				return repeat(4, func(i int) {
					if err := db.AddWebhookSecret(t.Context(), user, fmt.Sprint(i), noon(), noon().Add(time.Hour), most); err != nil && !errors.Is(err, studio.ErrTooManySecrets) {
						t.Error(err)
					}
				})
			}
			concurrently(add(1)...)
			secrets := try(db.WebhookSecrets(t.Context(), user, noon()))(t)
			if len(secrets) != 1 {
				t.Errorf("%d first secrets", len(secrets))
			}
			concurrently(add(5)...)
			secrets = try(db.WebhookSecrets(t.Context(), user, noon()))(t)
			left := try(db.WebhookSecrets(t.Context(), user, noon().Add(time.Hour)))(t)
			if len(secrets) != 5 || len(left) != 1 || left[0].Secret != secrets[0].Secret {
				t.Errorf("%d secrets are in force and %d stay, want 5 and the newest", len(secrets), len(left))
			}
		}
	})
}

// Concurrent replays replay each event once, and none of a subject that is deleted at the same time.
func TestStore_Replay_replaysEachEventOnce(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		for round := range rounds {
			kept, deleted := fmt.Sprintf("%d-kept", round), fmt.Sprintf("%d-deleted", round)
			for _, id := range []string{kept, deleted} {
				create(t, db, subject(id, 20))
				try(db.ExhaustEvents(t.Context(), id, noon(), studio.ReasonSchedule))(t)
			}
			for i, id := range []string{kept, deleted, kept, deleted} {
				n := try(db.AddReplay(t.Context(), fmt.Sprint(round, i), exhausted(studio.EventFilter{SubjectID: id}), studio.IdempotencyKey{}, noon(), math.MaxInt))(t)
				if n != 20 {
					t.Errorf("%d events are counted", n)
				}
			}
			concurrently(append(repeat(4, func(int) {
				for range 4 {
					if _, err := db.ReplayNext(t.Context(), noon()); err != nil {
						t.Error(err)
					}
				}
			}), func() {
				if err := deleteSubject(t, db, studio.Avatar, deleted, noon()); err != nil {
					t.Error(err)
				}
			})...)
			studiotest.FinishReplays(t, db, noon())
			for id, want := range map[string]int{kept: 20, deleted: 0} {
				pending := studiotest.Events(t, db, studio.EventFilter{SubjectID: id, State: studio.EventPending})
				if len(pending) != want {
					t.Errorf("%d events of %s are pending, want %d", len(pending), id, want)
				}
			}
		}
	})
}
