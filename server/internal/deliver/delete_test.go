package deliver_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/deliver"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// An event that was already read is not sent after its subject was deleted.
func TestDeliverer_Run_sendsNoEventOfADeletedSubject(t *testing.T) {
	onEachDatabase(t, func(s *fixture) {
		const url, others = "https://hooks.example.com/", 4
		holding := make(chan struct{}, others)
		sent := make(chan string, 100)
		s.sender = senderFunc(func(_ context.Context, message sender.Message) sender.Attempt {
			if len(holding) < cap(holding) {
				holding <- struct{}{}
				time.Sleep(200 * time.Millisecond)
			}
			sent <- message.ID
			return sender.Attempt{Status: 200}
		})
		s.workWhile(10*time.Second, func() {
			s.seed(others, url)
			time.Sleep(10 * time.Millisecond)
			victim := s.createFor(url)
			time.Sleep(50 * time.Millisecond) // the delivery is in memory and waits for its origin
			if err := s.studio.Delete(s.t.Context(), s.user.ID, studio.Avatar, victim.ID); err != nil {
				s.t.Error(err)
			}
		})
		if len(sent) != others {
			s.t.Errorf("%d events are sent, want those of the %d others", len(sent), others)
		}
	})
}

// A daemon erases what a process that was killed should have erased.
func TestSQLite_finishesTheErasureOfAProcessThatEnded(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		victim := s.createFor("https://hooks.example.com/")
		if err := s.db.RemoveUser(s.t.Context(), s.user.ID, time.Now()); err != nil {
			s.t.Fatal(err)
		}
		if _, err := s.db.Subject(s.t.Context(), victim.ID); err != nil {
			s.t.Fatal(err)
		}
		s.workWhile(3*time.Minute, func() { time.Sleep(2*time.Minute + time.Second) })
		if _, err := s.db.Subject(s.t.Context(), victim.ID); !errors.Is(err, studio.ErrNotFound) {
			s.t.Errorf("the record of the removed user: %v", err)
		}
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
			sendsNoEventOfWhatIsDeleted(t, remove)
		})
	}
}

func sendsNoEventOfWhatIsDeleted(t *testing.T, remove func(other *studio.Service, victim studio.Subject) error) {
	t.Helper()
	onRealPostgres(t, studiotest.NewPostgres(t), func(s *fixture) {
		const url = "https://hooks.example.com/"
		flow := store.Flow{UserID: s.user.ID, Origin: "https://hooks.example.com"}
		s.config = deliver.Config{InFlight: 1}
		release := make(chan struct{})
		var victim studio.Subject
		var sent atomic.Int64
		s.sender = senderFunc(func(_ context.Context, message sender.Message) sender.Attempt {
			<-release
			if strings.Contains(string(message.Body), victim.ID) {
				sent.Add(1)
			}
			return sender.Attempt{Status: 200}
		})
		process := s.process()
		defer start(process)()
		answer := sync.OnceFunc(func() { close(release) })
		defer answer()
		s.awaitListening() // earlier notifications would be lost
		s.createFor(url)   // this one is due first
		victim = s.createFor(url)
		s.eventually("a delivery waits for the one before", func() bool {
			n, _ := process.Loaded(flow)
			return n > 0
		})
		other := studio.New(studiotest.Config(studiotest.Open(s.t, s.dsn), s.now))
		check(s.t, remove(other, victim))
		s.eventually("the daemon knows of the deletion", func() bool {
			_, again := process.Loaded(flow)
			return again
		})
		answer()
		s.eventually("every event has ended", func() bool { return s.pending() == 0 })
		if n := sent.Load(); n != 0 {
			s.t.Errorf("%d events of what was deleted are sent", n)
		}
	})
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
				var sent []string
				s.sender = senderFunc(func(_ context.Context, message sender.Message) sender.Attempt {
					if sent = append(sent, message.URL); len(sent) == 1 {
						s.exec(statements...)                    //nolint:contextcheck // it has that of the test
						s.createFor("https://next.example.com/") //nolint:contextcheck // it has that of the test
					}
					return sender.Attempt{Status: 200}
				})
				s.createFor("https://hooks.example.com/")
				s.work(time.Minute)
				if !slices.Contains(sent, "https://next.example.com/") {
					s.t.Errorf("%v are sent", sent)
				}
				s.exec(`UPDATE subjects SET created_at = 0`) // otherwise store.Check reports the gap
			})
		})
	}
}
