package main

import (
	"context"
	"flag"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/server/bench/daemon/harness"
)

// TestMain runs this program as a receiver when a test starts it as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "-receiver" {
		if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	_ = flag.Set("test.parallel", "20") // rows spend most of their time waiting
	os.Exit(m.Run())
}

// Every row finishes on every database without a lost, misordered or wrongly signed event. Speed does not
// matter.
func TestRows_deliverEveryEventInOrder(t *testing.T) {
	t.Parallel()
	program, err := harness.BuildDaemon(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	kinds, stop, err := openDatabases(t.TempDir(), program)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	if len(kinds) == 1 {
		if os.Getenv("CI") == "true" {
			t.Error("PostgreSQL is not installed")
		}
		t.Log("PostgreSQL is not installed: it is not measured")
	}
	for _, kind := range kinds {
		for _, row := range rows(short()) {
			t.Run(kind.name+"/"+row.name, func(t *testing.T) {
				t.Parallel()
				figures, err := row.on(t.Context(), short(), kind)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range figures {
					t.Logf("%s: %s", f.name, f.measured)
					if f.name == "" || f.measured == "" {
						t.Errorf("a figure is empty: %+v", f)
					}
				}
			})
		}
	}
}

// The result of a run depends on the receiver, so the receiver must detect every kind of error.
func TestInbox_detectsErrors(t *testing.T) {
	t.Parallel()
	secret := webhook.NewSecret()
	for name, c := range map[string]struct {
		sent func(s *sent)
		want string
	}{
		"nothing":                 {func(s *sent) { s.event(1); s.event(2) }, ""},
		"the last one again":      {func(s *sent) { s.event(1); s.event(1); s.event(2) }, ""},
		"one lost":                {func(s *sent) { s.event(1) }, "1 events of 2"},
		"one before its turn":     {func(s *sent) { s.event(2); s.event(1) }, "out of order"},
		"an old one again":        {func(s *sent) { s.event(1); s.event(2); s.event(1) }, "out of order"},
		"another's signature":     {func(s *sent) { s.event(1); s.secret = webhook.NewSecret(); s.event(2) }, "wrong signature"},
		"one again, as another's": {func(s *sent) { s.event(1); s.event(2); s.secret = webhook.NewSecret(); s.event(2) }, "wrong signature"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, err := startInbox(t.Context(), setting{Secret: secret.Reveal(), Ports: map[string]int{accepts: 1}})
			if err != nil {
				t.Fatal(err)
			}
			c.sent(&sent{t: t, url: in.urls[accepts][0], secret: secret})
			_, err = in.all(2, 10*time.Millisecond, false)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("the error is %v, want %q", err, c.want)
			}
			if err := in.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// sent sends events of one subject to a receiver.
type sent struct {
	t      *testing.T
	url    string
	secret webhook.Secret
}

func (s *sent) event(sequence int) {
	s.t.Helper()
	if _, err := post(s.t.Context(), new(http.Transport), s.url, strconv.Itoa(sequence), sequence, s.secret); err != nil {
		s.t.Fatal(err)
	}
}

func TestReport_marksMissedTargets(t *testing.T) {
	t.Parallel()
	r := report{plan: short()}
	r.add(harness.SQLite, []figure{{"speed", "≥ 2", "3", true}, {"size", "≤ 5", "4", true}})
	r.add(harness.PostgreSQL, []figure{{"speed", "≥ 2", "1", false}, {"size", "≤ 6", "5", true}})
	for _, want := range []string{
		"| | Target | SQLite | PostgreSQL |\n", "| speed | ≥ 2 | 3 | **missed:** 1 |\n", "| size | ≤ 5 (PostgreSQL: ≤ 6) | 4 | 5 |\n",
	} {
		if text := r.markdown(); !strings.Contains(text, want) {
			t.Errorf("the report does not contain %q:\n%s", want, text)
		}
	}
}
