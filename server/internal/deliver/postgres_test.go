package deliver_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/deliver"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// onRealPostgres runs a test on PostgreSQL outside a bubble. It starts no runner.
func onRealPostgres(t *testing.T, dsn string, test func(s *fixture)) {
	t.Helper()
	s := &fixture{t: t, dsn: dsn, now: time.Now, config: deliver.Config{Rate: 100_000, InFlight: 100}}
	s.run(test)
}

// daemon runs a process until the returned function is called. The process finds due work only by
// notifications, because its rescan interval is an hour.
func (s *fixture) daemon() (stop func()) {
	s.t.Helper()
	return start(s.process())
}

// start runs a process until the returned function is called, which cancels running work.
func start(p *process) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Run(ctx, ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

func (s *fixture) eventually(what string, holds func() bool) {
	s.t.Helper()
	harness.Eventually(s.t, what, holds)
}

// pending returns how many events have not ended, up to 100.
func (s *fixture) pending() int {
	s.t.Helper()
	events, _, err := s.db.Events(s.t.Context(), studio.EventFilter{State: studio.EventPending}, studio.OldestFirst, studio.Position{}, 100)
	if err != nil {
		s.t.Log(err)
		return -1
	}
	return len(events)
}

// waitUntilListening waits until a daemon listens. Earlier notifications are lost, but it looks for due events then.
// The last statement of the connection may be a heartbeat.
func (s *fixture) waitUntilListening() {
	s.t.Helper()
	s.eventuallyTrue("the daemon listens", `SELECT EXISTS (SELECT FROM pg_stat_activity
		WHERE datname = current_database() AND state = 'idle' AND (query LIKE 'LISTEN "studio\_%' OR query = '-- ping'))`)
}

// nextDelivery returns the next delivery to hookURL, or the zero value if there is none.
func (s *fixture) nextDelivery() (next store.Delivery) {
	flow := store.Flow{UserID: s.user.ID, Origin: "https://hooks.example.com"}
	found, err := s.db.Deliveries(s.t.Context(), []store.DeliveryQuery{{Flow: flow, Limit: 1}})
	if err == nil && len(found[0]) == 1 {
		next = found[0][0]
	}
	return next
}

// addEvent adds an event to a subject.
func (s *fixture) addEvent(id string) error {
	_, err := s.db.UpdateSubject(s.t.Context(), id, func(subject *studio.Subject) error {
		subject.Sequence++
		subject.Events = append(subject.Events, studio.Event{
			ID: uuid.NewString(), SubjectID: id, Sequence: subject.Sequence, Body: []byte(`{}`), CreatedAt: time.Now(),
		})
		return nil
	})
	return err
}

// Events that are added while another event of their subject is delivered are delivered in order, without a
// rescan.
func TestPostgres_deliversEventsAddedDuringAnAttempt(t *testing.T) {
	t.Parallel()
	onRealPostgres(t, studiotest.NewPostgres(t), func(s *fixture) {
		subjects, events := 10, max(40/loadDivisor, 10)
		defer s.daemon()()
		var announcing sync.WaitGroup
		for i := range subjects {
			id := s.createFor(fmt.Sprint(hookURL, i)).ID
			announcing.Go(func() {
				for range events {
					if err := s.addEvent(id); err != nil {
						s.t.Error(err)
					}
				}
			})
		}
		announcing.Wait()
		s.eventually("every event is delivered", func() bool { return s.pending() == 0 })
		last := make(map[string]int64)
		for _, d := range s.receiver.deliveries() {
			if d.Sequence != last[d.URL]+1 {
				s.t.Errorf("event %d comes after %d", d.Sequence, last[d.URL])
			}
			last[d.URL] = d.Sequence
		}
	})
}

// A daemon joins another one, which then stops, while attempts of it are running. They share the origins, so that the
// limits of an origin hold for both together, and the one that stays has all of them soon. It delivers all events but
// those of the running attempts, which are not repeated.
func TestPostgres_twoDaemonsShareTheLanes(t *testing.T) {
	t.Parallel()
	onRealPostgres(t, studiotest.NewPostgres(t), func(s *fixture) {
		const origins = 20
		hung, others := urls(origins), urls(origins + max(100/loadDivisor, 30))[origins:]
		s.config.InFlight = 1
		var running sync.Map // by URL
		var did [2]atomic.Int64
		release := make(chan struct{})
		var daemons [2]*process
		for i := range daemons {
			s.sender = senderFunc(func(_ context.Context, message sender.Message) sender.Attempt {
				did[i].Add(1)
				if _, twice := running.LoadOrStore(message.URL, true); twice {
					s.t.Errorf("two attempts are made at once for %s", message.URL)
				}
				defer running.Delete(message.URL)
				if i == 0 && slices.Contains(hung, message.URL) {
					<-release
				}
				time.Sleep(5 * time.Millisecond)
				return sender.Attempt{Status: 200}
			})
			daemons[i] = s.process()
		}
		all := int64(0) // events
		create := func(urls []string, path string) {
			for _, url := range urls {
				s.createFor(url + path)
			}
			all += 3 * int64(len(urls))
		}
		delivered := func() bool { return did[0].Load()+did[1].Load() == all-2*origins } // but those after running attempts
		stopping, leave := context.WithCancel(t.Context())
		var first sync.WaitGroup
		first.Go(func() { daemons[0].Deliverer.Run(context.WithoutCancel(stopping), stopping) }) // the other one renders
		create(hung, "")
		s.eventually("an attempt is running for each origin", func() bool { return did[0].Load() == origins })
		lock := try(studiotest.OpenSQL(s.t, s.dsn).BeginTx(s.t.Context(), nil))(s.t) // like one that waits for a standby
		try(lock.ExecContext(s.t.Context(), `SELECT FROM subjects FOR NO KEY UPDATE`))(s.t)
		defer start(daemons[1])()
		s.eventuallyTrue("both have lanes", `SELECT count(*) = 2 FROM (SELECT FROM lanes WHERE holder IS NOT NULL GROUP BY holder HAVING count(*) > 64) h`)
		check(s.t, lock.Rollback())
		s.eventuallyTrue("both have half of the lanes", `SELECT count(*) = 2 FROM
			(SELECT FROM lanes WHERE holder IS NOT NULL GROUP BY holder HAVING count(*) = 128) h`)
		// On a busy machine, the attempts run longer than any real one.
		const later = `UPDATE deliveries SET due_at = due_at + 3600000000`
		s.exec(later)
		create(slices.Concat(others, others), "")
		s.eventually("all other events are delivered", delivered)
		if a, b := did[0].Load()-origins, did[1].Load(); min(a, b) < all/10 {
			s.t.Errorf("the daemons made %d and %d attempts, want a share for each", a, b)
		}
		leave()
		s.eventuallyTrue("one has all lanes", `SELECT count(*) = 256 AND count(DISTINCT holder) = 1 FROM lanes`)
		s.exec(later)
		s.waitUntilListening()
		create(hung, "other")
		s.eventually("all other events are delivered", delivered)
		release <- struct{}{}
		s.eventually("the events after a running attempt are delivered", func() bool { return did[0].Load()+did[1].Load() == all-2*origins+2 })
		close(release)
		first.Wait()
		s.eventually("every event is delivered", func() bool { return s.pending() == 0 })
		if a, b := did[0].Load(), did[1].Load(); a+b != all {
			s.t.Errorf("the daemons made %d and %d attempts, want %d together", a, b, all)
		}
	})
}

// A daemon that cannot renew its lease cancels its attempts before another daemon makes them. If it was frozen, it may
// receive notifications before the timer of its expired lease fires, and begins no attempt.
func TestPostgres_anotherDaemonTakesOverAnExpiredLease(t *testing.T) {
	t.Parallel()
	for name, frozen := range map[string]bool{"silent": false, "frozen": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onRealPostgres(t, studiotest.NewPostgres(t), func(s *fixture) {
				sending, stopped := make(chan struct{}), make(chan time.Time, 1)
				var attempts atomic.Int64
				s.sender = senderFunc(func(ctx context.Context, _ sender.Message) sender.Attempt {
					if attempts.Add(1) > 1 {
						s.t.Error("an attempt began after the end of the lease")
					}
					close(sending)
					<-ctx.Done()
					stopped <- time.Now()
					return sender.Attempt{Failure: sender.FailureCanceled}
				})
				silent := s.process()
				silent.SetRenewal(time.Hour, 0)
				stop := start(silent)
				s.create()
				<-sending
				if frozen {
					silent.EndLease()
					s.createFor("https://other.example.com/")
				}
				began := make(chan time.Time, 1)
				s.sender = senderFunc(func(context.Context, sender.Message) sender.Attempt {
					select {
					case began <- time.Now():
					default:
					}
					return sender.Attempt{Status: 200}
				})
				defer s.daemon()()
				if gap := (<-began).Sub(<-stopped); gap < 0 {
					s.t.Errorf("another attempt began %v before the end of the first", -gap)
				}
				s.eventually("every event is delivered", func() bool { return s.pending() == 0 })
				stop()
			})
		})
	}
}

// A daemon that was killed may not have notified the others of what it had committed. They all look for it, whichever
// of them has found that it has gone.
func TestPostgres_deliversWhatADaemonThatEndedHasNotAnnounced(t *testing.T) {
	t.Parallel()
	onRealPostgres(t, studiotest.NewPostgres(t), func(s *fixture) {
		defer s.daemon()()
		s.waitUntilListening()
		s.create()
		s.eventually("the daemon delivers", func() bool { return s.pending() == 0 })
		s.exec(`INSERT INTO holders (id, seen_at, leaving) VALUES ('killed', clock_timestamp(), TRUE)`)
		s.eventuallyTrue("the daemon knows the other one", `SELECT EXISTS (SELECT FROM holders killed, holders h
			WHERE killed.id = 'killed' AND h.seen_at > killed.seen_at + INTERVAL '1 second')`)
		s.seed(1, hookURL) // notifies nobody
		s.exec(`DELETE FROM holders WHERE id = 'killed'`)
		s.eventually("the event is delivered", func() bool { return s.pending() == 0 })
	})
}

// A daemon that was frozen gets the response to an attempt before the timer of its expired lease fires. Another daemon
// has tried the event meanwhile, and decides when it is tried again.
func TestPostgres_aFrozenDaemonOnlyAddsItsAttempt(t *testing.T) {
	t.Parallel()
	onRealPostgres(t, studiotest.NewPostgres(t), func(s *fixture) {
		sending, thawed := make(chan struct{}), make(chan struct{})
		s.sender = senderFunc(func(context.Context, sender.Message) sender.Attempt {
			close(sending)
			<-thawed
			return failed(500)
		})
		frozen := s.process()
		frozen.SetRenewal(time.Hour, time.Hour)
		stop := start(frozen)
		s.create()
		<-sending
		s.sender = senderFunc(func(context.Context, sender.Message) sender.Attempt {
			later := failed(503)
			later.RetryAfter = time.Hour
			return later
		})
		defer s.daemon()()
		attempts := func(n int) (next store.Delivery) {
			s.eventually(fmt.Sprint(n, " attempts are recorded"), func() bool {
				next = s.nextDelivery()
				return next.Attempts == n
			})
			return next
		}
		before := attempts(1)
		close(thawed)
		if after := attempts(2); after.Tries != 1 || !after.DueAt.Equal(before.DueAt) {
			s.t.Errorf("after %d tries, the next is due at %v, want one and %v", after.Tries, after.DueAt, before.DueAt)
		}
		stop()
	})
}
