package deliver_test

import (
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

const (
	hookURL = "https://hooks.example.com/"
	hungURL = "https://hung.example.com/"
	busyURL = "https://busy.example.org/"
	// busyTime is how long the receiver at busyURL takes, and hungTime how long receivers that do not answer.
	busyTime, hungTime = 200 * time.Millisecond, 15 * time.Second
	soon               = 100 * time.Millisecond
)

// urls returns the URLs of receivers, each with an origin of its own.
func urls(receivers int) (all []string) {
	for i := range receivers {
		all = append(all, fmt.Sprintf("https://%d.example.com/", i))
	}
	return all
}

// wantSoon creates a subject for each URL in turn, whose three events are to be sent soon.
func (s *fixture) wantSoon(urls ...string) {
	s.t.Helper()
	for _, url := range urls {
		before, created := len(s.receiver.times(url)), time.Now()
		s.createFor(url)
		time.Sleep(time.Second)
		if at := s.receiver.times(url)[before:]; len(at) != 3 || at[2].Sub(created) > soon {
			s.t.Errorf("%s got %v after %v", url, at, created)
		}
	}
}

// wantConcurrent proves the receiver at busyURL, which is to have 4 attempts at once then.
func (s *fixture) wantConcurrent() {
	s.t.Helper()
	s.createFor(busyURL)
	time.Sleep(time.Second)
	created := time.Now()
	for range 4 {
		s.createFor(busyURL)
	}
	time.Sleep(time.Second)
	if at := s.receiver.times(busyURL); len(at) != 15 || at[14].Sub(created) > 4*busyTime {
		s.t.Errorf("a proven receiver got %v after %v, want 4 attempts at once", at, created)
	}
}

// A receiver that hangs and has a long backlog delays no other, and has as many attempts in flight as it may have.
func TestSQLite_longBacklogDelaysNoOtherReceiver(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		s.receiver.hangs = func(url string) bool { return url == hungURL }
		began := time.Now()
		s.seed(100_000/loadDivisor, hungURL)
		s.seed(2, urls(99)...)
		s.workWhile(time.Minute, func() {
			time.Sleep(10 * time.Second)
			for _, url := range urls(99) {
				if at := s.receiver.times(url); len(at) != 2 || at[1].Sub(began) > soon {
					s.t.Errorf("%s got attempts at %v, want two soon", url, at)
				}
			}
			if n := len(s.receiver.times(hungURL)); n != 4 {
				s.t.Errorf("%d attempts in flight to the receiver that hangs, want 4", n)
			}
			s.wantSoon(urls(20)...)
		})
	})
}

// New origins that hang delay neither an untried origin nor a proven one, which has its concurrent attempts, nor their
// user once another user has proven one. They may belong to one user or to more users than there are workers.
func TestSQLite_untriedOriginsThatHangDelayNoOther(t *testing.T) {
	t.Parallel()
	crowds := []int{1, 300}
	if testing.Short() {
		crowds = []int{300} // more users than workers are the hardest case
	}
	for _, users := range crowds {
		t.Run(fmt.Sprint(users), func(t *testing.T) {
			onSQLite(t, func(s *fixture) {
				const origins = 400
				healthy := urls(max(40/loadDivisor, 10))
				s.receiver.hangs = func(url string) bool { return !slices.Contains(healthy, url) }
				s.config.BreakAfter = 1 << 30 // otherwise the breakers free the workers
				ids := make([]string, users)
				for i := range ids {
					ids[i] = studiotest.AddUser(s.t, s.studio, fmt.Sprintf("%d@example.com", i)).ID
				}
				s.transact(func(tx *sql.Tx) {
					for i := range origins {
						s.insert(tx, ids[i%users], 4, []string{fmt.Sprintf("https://%d.example.net/", i)})
					}
					s.insert(tx, ids[0], 1, []string{busyURL + "late"}) // after all others
				})
				s.workWhile(time.Duration(2*len(healthy)+10)*time.Second, func() {
					time.Sleep(time.Second)
					if n := len(s.receiver.deliveries()); users == 1 && n != 96 { // half of what he may use
						s.t.Errorf("%d attempts of a user at once", n)
					}
					s.wantConcurrent()
					if len(s.receiver.times(busyURL+"late")) == 0 {
						s.t.Error("nothing is sent to an origin that another user has proven")
					}
					s.wantSoon(healthy...)
					s.wantSoon(healthy...) // proven now
				})
			})
		})
	}
}

// Receivers of a user that have failed do not delay his new ones, even if they hang and are more than his workers.
func TestSQLite_failingReceiversOfAUserDelayNoNewOneOfHis(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		hung := urls(50)
		s.receiver.hangs = func(url string) bool { return slices.Contains(hung, url) }
		s.seed(20, hung...)
		s.workWhile(time.Minute, func() {
			time.Sleep(3*hungTime + time.Second) // the first attempts to all of them have failed
			s.wantSoon(urls(60)[50:]...)
		})
	})
}

// However many receivers of a user take their time, another user has concurrent attempts.
func TestSQLite_slowReceiversOfAUserDelayNoOtherUser(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		s.receiver.takes = 10 * time.Second
		s.seed(20, urls(100)...)
		s.user = studiotest.AddUser(s.t, s.studio, "bob@example.com")
		s.workWhile(40*time.Second, func() {
			time.Sleep(30 * time.Second) // the first attempts prove the receivers, the next ones use all workers
			s.wantConcurrent()
		})
	})
}

// A circuit breaker that is open stays open when the process restarts. When another daemon had the lanes meanwhile, its
// breakers count, and what this one had read does not. A breaker that has closed is forgotten.
func TestDeliverer_Run_openBreakerSurvivesARestart(t *testing.T) {
	onEachDatabase(t, func(s *fixture) {
		s.receiver.answer = func(sender.Message, int) sender.Attempt { return sender.Attempt{Failure: sender.FailureConnect} }
		s.seed(30, hookURL)
		s.work(3 * time.Second)
		opened := len(s.receiver.deliveries())
		if opened < 10 || opened > 13 {
			s.t.Fatalf("%d attempts are made before the breaker opens", opened)
		}
		for want := range 2 { // after less than 30 s, and after more
			s.work(20 * time.Second)
			if n := len(s.receiver.deliveries()); n != opened+want {
				s.t.Errorf("%d attempts are made while the breaker is open, want %d", n-opened, want)
			}
		}
		const other = "https://other.example.com/"
		process := s.process()
		stop := start(process)
		time.Sleep(time.Second)
		s.seed(1, other)
		process.Retake(store.Flow{UserID: s.user.ID, Origin: studio.Origin(other)}, func() { // as another daemon does
			s.exec(`UPDATE breakers SET until = until + 300000000, pause = 300000000`, `DELETE FROM deliveries WHERE url = '`+other+`'`,
				`UPDATE events SET state = 'delivered', ended_at = created_at WHERE subject_id LIKE '`+other+`%'`)
		})
		time.Sleep(2 * time.Minute)
		if n := len(s.receiver.deliveries()); n != opened+1 {
			s.t.Errorf("%d attempts are made after another daemon has delivered and its probe has failed", n-opened-1)
		}
		stop()
		s.receiver.answer = nil
		s.work(5 * time.Minute)
		if open := try(s.db.Breakers(s.t.Context()))(s.t); len(open) > 0 {
			s.t.Errorf("%+v is still stored after the origin has recovered", open)
		}
	})
}

func TestDeliverer_Run_switchesOffAnEndpointThatRespondsWith410(t *testing.T) {
	onEachDatabase(t, func(s *fixture) {
		const gone, here = hookURL + "gone", hookURL + "here"
		status := 410
		s.receiver.answer = func(message sender.Message, _ int) sender.Attempt {
			if message.URL == gone && status != 200 {
				return failed(status)
			}
			return sender.Attempt{Status: 200}
		}
		wantAttempts := func(url string, want int) {
			s.t.Helper()
			if n := len(s.receiver.times(url)); n != want {
				s.t.Errorf("%d attempts to %s, want %d", n, url, want)
			}
		}
		first := s.createFor(gone)
		s.work(time.Second)
		second := s.createFor(gone)
		s.createFor(here)
		s.work(time.Minute)
		wantAttempts(gone, 1)
		wantAttempts(here, 3)
		for id, want := range map[string][]studio.Reason{
			first.ID:  {studio.ReasonGone, studio.ReasonDisabled, studio.ReasonDisabled},
			second.ID: {studio.ReasonDisabled, studio.ReasonDisabled, studio.ReasonDisabled},
		} {
			var reasons []studio.Reason
			for _, event := range studiotest.Events(s.t, s.db, studio.EventFilter{SubjectID: id, State: studio.EventExhausted}) {
				reasons = append(reasons, event.Reason)
			}
			if !slices.Equal(reasons, want) {
				s.t.Errorf("events ended for %q, want %q", reasons, want)
			}
		}
		endpoints, err := s.db.TroubledEndpoints(s.t.Context(), 2)
		if err != nil || len(endpoints) != 1 || endpoints[0].URL != gone || endpoints[0].DisabledAt.IsZero() {
			s.t.Fatalf("disabled are %+v (%v)", endpoints, err)
		}

		status = 200
		check(s.t, s.db.EnableEndpoint(s.t.Context(), s.user.ID, gone))
		if n, err := s.studio.ReplayEvents(s.t.Context(), studio.Replay{Filter: studio.EventFilter{To: s.now()}}); n != 6 || err != nil {
			s.t.Fatalf("%d events are replayed (%v), want 6", n, err)
		}
		s.work(time.Second)
		wantAttempts(gone, 7)
	})
}

// Another process, such as a command, cannot notify the daemon on SQLite. The daemon polls for its writes.
func TestSQLite_deliversEventsWrittenByAnotherProcess(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		s.rescans = true
		s.workWhile(15*time.Second, func() {
			time.Sleep(10*time.Second + time.Millisecond)
			s.seed(1, hookURL)
			time.Sleep(time.Second)
			if at := s.receiver.times(hookURL); len(at) != 1 {
				s.t.Errorf("sent at %v, want one attempt within a second", at)
			}
		})
	})
}
