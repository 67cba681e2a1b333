package daemon_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/server/bench/measure"
)

// The receiver must detect every kind of wrong event, because a run fails only if it does.
func TestReceiver_detectsWrongEvents(t *testing.T) {
	t.Parallel()
	secret, other := webhook.NewSecret(), webhook.NewSecret()
	type event struct {
		sequence int
		secret   webhook.Secret
		status   string
	}
	first, second := event{1, secret, "succeeded"}, event{2, secret, "succeeded"}
	for name, c := range map[string]struct {
		events     []event
		want       string // in the error
		duplicates int
	}{
		"none":                           {events: []event{first, second}},
		"last event again":               {events: []event{first, first, second}, duplicates: 1},
		"lost event":                     {events: []event{first}, want: "1 events of 2"},
		"second event first":             {events: []event{second, first}, want: "out of order"},
		"first event again":              {events: []event{first, second, first}, want: "out of order", duplicates: 1},
		"wrong signature":                {events: []event{first, {2, other, "succeeded"}}, want: "wrong signature"},
		"duplicate with wrong signature": {events: []event{first, second, {2, other, "succeeded"}}, want: "wrong signature"},
		"failed lip-sync":                {events: []event{first, {2, secret, "failed"}}, want: "wrong signature or body"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			receiver := startReceiver(t, receiverConfig{Secrets: []string{secret.Reveal()}, Ports: ports{accepts: 1}})
			client := measure.NewClient(receiver.urls[accepts][0], 1)
			defer client.Close()
			for _, e := range c.events {
				_, err := client.Send(signedEvent(fmt.Sprint(e.sequence), "subject", e.status, e.sequence, e.secret))
				check(t, err)
			}
			tally := receiver.ask(query{Accepted: 2, MaxWait: 10 * time.Millisecond})
			if err := tally.verify(2); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || tally.Duplicates != c.duplicates {
				t.Errorf("the error is %v with %d duplicates, want %q", err, tally.Duplicates, c.want)
			}
		})
	}
}

// The time that openLoop passes to a call is the intended start, even if earlier calls are slow.
func TestOpenLoop_passesIntendedTime(t *testing.T) {
	t.Parallel()
	all := arrivals(1000, 100*time.Millisecond)
	if !slices.IsSorted(all) || !slices.Equal(all, arrivals(1000, 100*time.Millisecond)) || len(all) < 50 || len(all) > 150 {
		t.Errorf("%d arrivals within 100 ms, at %v", len(all), all)
	}
	var mu sync.Mutex
	dueTimes := make([]time.Time, len(all))
	began := time.Now()
	openLoop(all, func(i int, due time.Time) {
		mu.Lock() // serves one request at a time
		defer mu.Unlock()
		dueTimes[i] = due
	})
	for i, at := range all {
		if dueTimes[i].Sub(dueTimes[0]) != at-all[0] || dueTimes[i].Before(began.Add(at)) {
			t.Fatalf("arrival %d is due at %v, want %v", i, dueTimes[i].Sub(began), at)
		}
	}
}

func TestSearch_findsHighestRate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ limit, from, to int }{
		"above first": {1300, 1170, 1300},
		"first":       {500, 450, 500},
		"below first": {90, 80, 90},
		"none":        {0, 0, 0},
		"all":         {1 << 30, 10_000, 20_000},
	} {
		if got := search(500, 10_000, func(rate int) bool { return rate <= c.limit }); got < c.from || got > c.to {
			t.Errorf("%s: the highest rate is %d, want %d to %d", name, got, c.from, c.to)
		}
	}
}

func TestTable_marksMissedTargets(t *testing.T) {
	t.Parallel()
	text := table([]measured{
		{sqlite, []figure{{"speed", "≥ 2", "3", true}, {"size", "≤ 5", "4", true}}},
		{postgreSQL, []figure{{"speed", "≥ 2", "1", false}, {"size", "≤ 6", "5", true}}},
	})
	const want = "| | Target | SQLite | PostgreSQL |\n|---|---|---|---|\n| speed | ≥ 2 | 3 | **missed:** 1 |\n| size | ≤ 5 (PostgreSQL: ≤ 6) | 4 | 5 |\n"
	if text != want {
		t.Errorf("the table is\n%s", text)
	}
}
