package deliver_test

import (
	"context"
	"errors"
	"flag"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/avatarstudio/avatarstudio/server/internal/deliver"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		loadDivisor = max(loadDivisor, 10)
	}
	goleak.VerifyTestMain(m)
}

// The events of a subject are delivered in order, also after a restart. Other subjects do not wait for it.
func TestDeliverer_Run_deliversTheEventsOfASubjectInOrder(t *testing.T) {
	onEachDatabase(t, func(s *fixture) {
		slow, quick := s.create(), s.create()
		s.receiver.answer = func(message sender.Message, try int) sender.Attempt {
			if strings.Contains(string(message.Body), slow.ID) && message.Sequence == 1 && try < 3 {
				return failed(500)
			}
			return sender.Attempt{Status: 200}
		}
		s.work(4 * time.Second)
		s.wantStatuses(slow.ID, "processing")
		s.wantStatuses(quick.ID, "processing", "consent_pending", "published")
		s.close()
		s.open()
		s.work(time.Minute)
		s.wantStatuses(slow.ID, "processing", "processing", "processing", "consent_pending", "published")
	})
}

// The clock advances with every reading, so other work becomes due during each scan.
func TestSQLite_startsWorkThatBecomesDueDuringAScan(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		const subjects, maxReadings = 50, 1_000_000
		s.receiver.answer = func(message sender.Message, try int) sender.Attempt {
			if message.Sequence == 1 && try == 1 {
				return failed(500)
			}
			return sender.Attempt{Status: 200}
		}
		s.config = deliver.Config{Rate: 100_000, InFlight: 200, BreakAfter: 1000}
		for range subjects {
			s.create()
		}
		var readings atomic.Int64
		process := s.process()
		process.SetClock(func() time.Time {
			if readings.Add(1) == maxReadings {
				panic("startDue does not return")
			}
			return time.Now().Add(time.Duration(readings.Load()) * 100 * time.Microsecond)
		})
		stop := start(process)
		time.Sleep(time.Minute)
		stop()
		if n := s.pending(); n > 0 {
			s.t.Errorf("%d events are not delivered", n)
		}
	})
}

// An attempt that cannot be recorded is not repeated while the daemon runs.
func TestSQLite_recordsAnAttemptOnceTheDatabaseRecovers(t *testing.T) {
	onSQLite(t, func(s *fixture) { // an SQLite trigger refuses the row
		avatar := s.create()
		s.exec(`CREATE TRIGGER full BEFORE UPDATE OF last_at ON events BEGIN SELECT RAISE(ABORT, 'full'); END`)
		s.work(9 * time.Minute)
		s.wantStatuses(avatar.ID, "processing")
		s.workWhile(9*time.Minute, func() { // a restarted daemon sends the event again
			time.Sleep(time.Minute)
			s.exec(`DROP TRIGGER full`)
		})
		s.wantStatuses(avatar.ID, "processing", "processing", "consent_pending", "published")
	})
}

// A deliverer that stops records its running attempt and begins no other, also if running work is canceled.
func TestSQLite_recordsARunningAttemptBeforeItStops(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		s.receiver.takes = 10 * time.Second
		avatar := s.create()
		s.work(5 * time.Second)
		s.wantStatuses(avatar.ID, "processing") // and not the events after it
		s.work(time.Minute)
		s.wantStatuses(avatar.ID, "processing", "consent_pending", "published")
	})
}

// countingStore counts the reads of webhook secrets. The first one fails.
type countingStore struct {
	studio.Store
	reads atomic.Int32
}

func (c *countingStore) WebhookSecrets(ctx context.Context, userID string, now time.Time) ([]studio.WebhookSecret, error) {
	if c.reads.Add(1) == 1 {
		return nil, errors.New("an outage")
	}
	return c.Store.WebhookSecrets(ctx, userID, now)
}

// Otherwise each burst of attempts would occupy all connections of the pool. None is made without secrets.
func TestSQLite_attemptsThatBeginTogetherReadTheSecretsOnce(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		try(s.studio.WebhookSecrets(s.t.Context(), s.user.ID))(s.t) // makes the first one
		counting := &countingStore{Store: s.db}
		s.studio.Store = counting
		s.seed(1, urls(20)...)
		s.work(3 * time.Second / 2)
		all := s.receiver.deliveries()
		unsigned := func(d *delivery) bool { return len(d.Secrets) == 0 }
		if reads := counting.reads.Load(); reads != 2 || len(all) != 20 || slices.ContainsFunc(all, unsigned) {
			s.t.Errorf("%d attempts read the secrets %d times, the first time in vain, and are signed with %v", len(all), reads, all[0].Secrets)
		}
	})
}

func TestDeliverer_Run_signsWithEveryValidSecret(t *testing.T) {
	onEachDatabase(t, func(s *fixture) {
		wantSigned := func(with int) {
			s.create()
			time.Sleep(time.Second)
			secrets := try(s.studio.WebhookSecrets(s.t.Context(), s.user.ID))(s.t)
			all := s.receiver.deliveries()
			var signed []string
			for _, secret := range all[len(all)-1].Secrets {
				signed = append(signed, secret.Reveal())
			}
			if len(secrets) != with || !slices.Equal(signed, secrets) {
				s.t.Errorf("signed with %d of %d secrets, want %d", len(signed), len(secrets), with)
			}
		}
		s.workWhile(studio.SecretOverlap+time.Minute, func() {
			wantSigned(1)
			try(s.studio.RotateWebhookSecret(s.t.Context(), s.user.ID))(s.t)
			time.Sleep(time.Second) // the secrets are remembered for so long
			wantSigned(2)
			time.Sleep(studio.SecretOverlap)
			wantSigned(1)
		})
	})
}
