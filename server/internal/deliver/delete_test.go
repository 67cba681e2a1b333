package deliver_test

import (
	"sync"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/deliver"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// An event that was already read is not sent after its subject was deleted.
func TestDeliverer_Run_sendsNoEventOfADeletedSubject(t *testing.T) {
	onEachDatabase(t, func(s *fixture) {
		const others = 4
		s.receiver.takes = 200 * time.Millisecond
		s.workWhile(10*time.Second, func() {
			s.seed(others, hookURL)
			time.Sleep(10 * time.Millisecond)
			victim := s.create()
			time.Sleep(50 * time.Millisecond) // the delivery is in memory and waits for its origin
			if err := s.studio.Delete(s.t.Context(), s.user.ID, studio.Avatar, victim.ID); err != nil {
				s.t.Error(err)
			}
		})
		if n := len(s.receiver.deliveries()); n != others {
			s.t.Errorf("%d events are sent, want those of the %d others", n, others)
		}
	})
}

// What was read is read again after a second, because a notification of a deletion may be lost.
func TestSQLite_sendsNothingThatItReadLongBefore(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		s.config = deliver.Config{InFlight: 1}
		s.receiver.takes = 2 * time.Second
		s.seed(4, hookURL)
		s.workWhile(10*time.Second, func() {
			time.Sleep(time.Second)
			s.exec(`DELETE FROM deliveries`, `DELETE FROM events`, `DELETE FROM subjects`)
		})
		if n := len(s.receiver.deliveries()); n != 1 {
			s.t.Errorf("%d events are sent, want the one before the deletion", n)
		}
	})
}

// A daemon erases what a process that was killed should have erased.
func TestSQLite_finishesTheErasureOfAProcessThatEnded(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		victim := s.create()
		check(s.t, s.db.RemoveUser(s.t.Context(), s.user.ID, time.Now()))
		try(s.db.Subject(s.t.Context(), victim.ID))(s.t)
		s.upkeep = true
		s.work(2*time.Minute + time.Second)
		_, err := s.db.Subject(s.t.Context(), victim.ID)
		harness.WantError(s.t, err, studio.ErrNotFound)
	})
}

// A daemon is notified of a deletion by another process, and discards the deliveries that it has read.
func TestPostgres_sendsNoEventOfWhatAnotherProcessDeleted(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(other *studio.Service, victim studio.Subject) error{
		"subject": func(other *studio.Service, victim studio.Subject) error {
			return other.Delete(t.Context(), victim.UserID, studio.Avatar, victim.ID)
		},
		"user": func(other *studio.Service, _ studio.Subject) error {
			return studiotest.DeleteUser(t.Context(), other, "ada@example.com")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onRealPostgres(t, studiotest.NewPostgres(t), func(s *fixture) {
				flow := store.Flow{UserID: s.user.ID, Origin: studio.Origin(hookURL)}
				s.config = deliver.Config{InFlight: 1}
				release := make(chan struct{})
				s.receiver.answer = func(sender.Message, int) sender.Attempt {
					<-release
					return sender.Attempt{Status: 200}
				}
				process := s.process()
				defer start(process)()
				answer := sync.OnceFunc(func() { close(release) })
				defer answer()
				s.waitUntilListening()
				s.create() // this one is due first
				victim := s.create()
				s.eventually("a delivery waits for the one before", func() bool {
					n, _ := process.Loaded(flow)
					return n > 0
				})
				check(s.t, remove(studio.New(studiotest.Config(studiotest.Open(s.t, s.dsn), s.now)), victim))
				s.eventually("the daemon knows of the deletion", func() bool {
					_, again := process.Loaded(flow)
					return again
				})
				answer()
				s.eventually("every event has ended", func() bool { return s.pending() == 0 })
				if sent := s.receiver.statuses(victim.ID); len(sent) > 0 {
					s.t.Errorf("events of what was deleted are sent: %v", sent)
				}
			})
		})
	}
}

// An attempt cannot be recorded if the rows of its event have been deleted, as by the restore of an earlier
// backup. It occupies no worker then.
func TestDeliverer_Run_freesTheWorkerOfAnEventWithoutRows(t *testing.T) {
	t.Parallel()
	const lock = `UPDATE subjects SET sequence = sequence` // a rendering that has just ended adds an event before or after
	for name, statements := range map[string][]string{
		"event":   {lock, `DELETE FROM deliveries`, `DELETE FROM events`},
		"subject": {lock, `DELETE FROM deliveries`, `DELETE FROM events`, `DELETE FROM subjects`},
	} {
		t.Run(name, func(t *testing.T) {
			onEachDatabase(t, func(s *fixture) {
				s.config = deliver.Config{Workers: 1}
				const next = "https://next.example.com/"
				s.receiver.answer = func(sender.Message, int) sender.Attempt {
					if len(s.receiver.deliveries()) == 1 {
						s.exec(statements...)
						s.createFor(next)
					}
					return sender.Attempt{Status: 200}
				}
				s.create()
				s.work(time.Minute)
				if len(s.receiver.times(next)) == 0 {
					s.t.Error("nothing else is sent")
				}
				s.exec(`UPDATE subjects SET created_at = 0`) // otherwise store.Check reports the gap
			})
		})
	}
}
