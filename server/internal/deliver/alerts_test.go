package deliver_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// alertLog records alerts, which are not concurrent.
type alertLog struct {
	all  []store.Alert
	at   []time.Time
	fail int // how many calls fail
}

func (l *alertLog) add(_ context.Context, alert store.Alert) error {
	if l.fail > 0 {
		l.fail--
		return errors.New("no mail server")
	}
	l.all, l.at = append(l.all, alert), append(l.at, time.Now())
	return nil
}

// The owner of a URL that fails is alerted after a day, and then daily as long as something is sent to it.
func TestDeliverer_Run_alertsOwnersOfFailingURLs(t *testing.T) { //nolint:tparallel // onSQLite and onEachDatabase call Parallel
	t.Parallel()
	for name, test := range map[string]struct {
		status      int
		until       time.Duration // until the receiver accepts events
		failingMail int
		works       time.Duration
		want        []time.Duration
	}{
		"fails for days":    {500, 1000 * time.Hour, 0, 75 * time.Hour, []time.Duration{24 * time.Hour, 48 * time.Hour, 72 * time.Hour}},
		"fails for an hour": {500, time.Hour, 0, 30 * time.Hour, nil},
		// The retry after a day is made after 25 hours at least.
		"fails for a day": {500, 24*time.Hour + time.Minute, 0, 50 * time.Hour, []time.Duration{24 * time.Hour}},
		// The last of six attempts is made after less than three hours.
		"rejects for days":        {404, 1000 * time.Hour, 0, 50 * time.Hour, []time.Duration{24 * time.Hour}},
		"no mail server at first": {404, 1000 * time.Hour, 2, 25 * time.Hour, []time.Duration{24*time.Hour + 20*time.Minute}},
		"disabled":                {410, 1000 * time.Hour, 0, 25 * time.Hour, []time.Duration{0}},
		"disabled, no mail":       {410, 1000 * time.Hour, 2, 25 * time.Hour, []time.Duration{20 * time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			on := onSQLite
			if len(test.want) > 1 || test.failingMail > 0 { // the same statements serve the others
				on = onEachDatabase
			}
			on(t, func(s *fixture) {
				began := time.Now()
				log := &alertLog{fail: test.failingMail}
				s.config.Alert = log.add
				s.receiver.answer = func(sender.Message, int) sender.Attempt {
					if time.Since(began) > test.until {
						return sender.Attempt{Status: 200}
					}
					return failed(test.status)
				}
				s.create()
				s.work(test.works)
				s.work(10 * time.Hour) // a restart repeats nothing
				if len(log.all) != len(test.want) {
					s.t.Errorf("alerts %+v at %v, want them after %v", log.all, log.at, test.want)
					return
				}
				for i, alert := range log.all {
					if late := log.at[i].Sub(began) - test.want[i]; late < 0 || late > 5*time.Minute {
						s.t.Errorf("alert %d comes after %v, want %v", i, log.at[i].Sub(began), test.want[i])
					}
					if disabled := test.status == 410; alert.Email != s.user.Email || alert.URL != hookURL || alert.DisabledAt.IsZero() == disabled || alert.FailingSince.IsZero() != disabled {
						s.t.Errorf("%+v", alert)
					}
				}
			})
		})
	}
}

// A URL that was disabled by a process that stopped before it could alert the owner causes an alert at the next start.
// A pause of the URL means that its user knows.
func TestDeliverer_Run_alertsOfURLsDisabledBefore(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		s.receiver.answer = func(sender.Message, int) sender.Attempt { return failed(410) }
		s.create()
		s.createFor("https://paused.example.com/")
		s.work(time.Minute)
		check(s.t, s.db.PauseEndpoint(s.t.Context(), s.user.ID, "https://paused.example.com/", s.now()))
		var log alertLog
		s.config.Alert = log.add
		s.work(time.Minute)
		s.work(time.Minute)
		if len(log.all) != 1 || log.all[0].URL != hookURL {
			s.t.Errorf("alerts %+v", log.all)
		}
	})
}
