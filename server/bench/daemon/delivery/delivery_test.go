package main

import (
	"flag"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/harness"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/server/bench/daemon/measure"
)

func TestMain(m *testing.M) {
	harness.RunChild(runReceiver)
	_ = flag.Set("test.parallel", "20") // rows spend most of their time waiting
	os.Exit(m.Run())
}

// On each database, every row delivers its events without loss, in order and correctly signed. Missed targets do not
// fail the test.
func TestRows_deliverEventsInOrder(t *testing.T) {
	t.Parallel()
	program, err := measure.Studiod(t.Context())
	harness.Check(t, err)
	for _, kind := range measure.TestDatabases(t) {
		for _, row := range rows(short()) {
			t.Run(kind.Name+"/"+row.name, func(t *testing.T) {
				t.Parallel()
				figures, err := row.run(t.Context(), short(), kind, program)
				harness.Check(t, err)
				measure.WantFigures(t, figures)
			})
		}
	}
}

// The receiver must detect every kind of wrong event, because a run fails only if it does.
func TestReceiver_detectsWrongEvents(t *testing.T) {
	t.Parallel()
	secret := webhook.NewSecret()
	for name, c := range map[string]struct {
		send func(s *eventSender)
		want string
	}{
		"none":                           {func(s *eventSender) { s.event(1); s.event(2) }, ""},
		"last event again":               {func(s *eventSender) { s.event(1); s.event(1); s.event(2) }, ""},
		"lost event":                     {func(s *eventSender) { s.event(1) }, "1 events of 2"},
		"second event first":             {func(s *eventSender) { s.event(2); s.event(1) }, "out of order"},
		"first event again":              {func(s *eventSender) { s.event(1); s.event(2); s.event(1) }, "out of order"},
		"wrong signature":                {func(s *eventSender) { s.event(1); s.secret = webhook.NewSecret(); s.event(2) }, "wrong signature"},
		"duplicate with wrong signature": {func(s *eventSender) { s.event(1); s.event(2); s.secret = webhook.NewSecret(); s.event(2) }, "wrong signature"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			receiver, err := startReceiver(t.Context(), receiverConfig{Secret: secret.Reveal(), Ports: map[string]int{accepts: 1}})
			if err != nil {
				t.Fatal(err)
			}
			c.send(&eventSender{t: t, url: receiver.urls[accepts][0], secret: secret})
			_, err = receiver.waitAll(2, 10*time.Millisecond, false)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("the error is %v, want %q", err, c.want)
			}
			if err := receiver.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// eventSender sends events of one subject to a receiver.
type eventSender struct {
	t      *testing.T
	url    string
	secret webhook.Secret
}

func (s *eventSender) event(sequence int) {
	s.t.Helper()
	if _, err := post(s.t.Context(), new(http.Transport), s.url, strconv.Itoa(sequence), sequence, s.secret); err != nil {
		s.t.Fatal(err)
	}
}

func TestReport_marksMissedTargets(t *testing.T) {
	t.Parallel()
	r := report{plan: short()}
	r.Add(measure.SQLite, []figure{{"speed", "≥ 2", "3", true}, {"size", "≤ 5", "4", true}})
	r.Add(measure.PostgreSQL, []figure{{"speed", "≥ 2", "1", false}, {"size", "≤ 6", "5", true}})
	for _, want := range []string{
		"| | Target | SQLite | PostgreSQL |\n", "| speed | ≥ 2 | 3 | **missed:** 1 |\n", "| size | ≤ 5 (PostgreSQL: ≤ 6) | 4 | 5 |\n",
	} {
		if text := r.markdown(); !strings.Contains(text, want) {
			t.Errorf("the report does not contain %q:\n%s", want, text)
		}
	}
}
