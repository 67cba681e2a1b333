package jobs

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

const hooks = "https://hooks.example.com"

func newTestOrigins() (*origins, *studiotest.Clock) {
	clock := studiotest.NewClock()
	return New(Config{Now: clock.Now}).origins, clock
}

// fails makes the breaker of hooks open.
func fails(t *testing.T, o *origins, clock *studiotest.Clock) {
	t.Helper()
	for i := range 10 {
		wantAdmitted(t, o, true)
		opened, _ := o.done(hooks, failing)
		if want := i == 9; (opened > 0) != want {
			t.Fatalf("after %d failures the breaker opens for %v", i+1, opened)
		}
		clock.Add(20 * time.Millisecond)
	}
}

func wantAdmitted(t *testing.T, o *origins, want bool) {
	t.Helper()
	if got, at := o.admit(hooks); got != want {
		t.Fatalf("admitted: %v (again at %v), want %v", got, at, want)
	}
}

func TestOrigins_fourInFlight(t *testing.T) {
	t.Parallel()
	o, clock := newTestOrigins()
	for range 4 {
		wantAdmitted(t, o, true)
	}
	wantAdmitted(t, o, false)
	if free, at := o.free(hooks); free != 0 || !at.IsZero() {
		t.Errorf("%d free at %v, want none until one ends", free, at)
	}
	if admitted, _ := o.admit("https://other.example.com"); !admitted {
		t.Error("another origin waits for this one")
	}
	clock.Add(time.Second)
	wantAdmitted(t, o, false)
	o.done(hooks, alive)
	wantAdmitted(t, o, true)
	wantAdmitted(t, o, false)
}

func TestOrigins_fiftyInASecond(t *testing.T) {
	t.Parallel()
	o, clock := newTestOrigins()
	admitted := 0
	for range 10_000 { // ten seconds
		for {
			ok, _ := o.admit(hooks)
			if !ok {
				break
			}
			admitted++
			o.done(hooks, alive)
		}
		clock.Add(time.Millisecond)
	}
	if admitted < 500 || admitted > 510 {
		t.Errorf("%d attempts in ten seconds, want 500 and up to 10 at once at the start", admitted)
	}
}

// Who is turned away comes again at a time of its own.
func TestOrigins_turnsAwayToDifferentTimes(t *testing.T) {
	t.Parallel()
	o, clock := newTestOrigins()
	fails(t, o, clock)
	var last time.Time
	for i := range 1000 {
		_, at := o.admit(hooks)
		if at.Sub(last) < 20*time.Millisecond || at.Before(clock.Now().Add(29*time.Second)) {
			t.Fatalf("the %d. comes again at %v, the one before at %v", i+1, at, last)
		}
		last = at
	}
}

func TestOrigins_breakerOpensLongerEachTimeThatItsProbeFails(t *testing.T) {
	t.Parallel()
	o, clock := newTestOrigins()
	fails(t, o, clock)
	clock.Add(-20 * time.Millisecond)
	for _, pause := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute} {
		wantAdmitted(t, o, false)
		clock.Add(pause - time.Millisecond)
		wantAdmitted(t, o, false)
		clock.Add(time.Millisecond)
		wantAdmitted(t, o, true)
		wantAdmitted(t, o, false) // one probe
		o.done(hooks, failing)
	}
}

// What waits for an origin that recovers does not come all at once: more are waiting than may
// begin, each takes 100 ms, and all succeed.
func TestOrigins_recoverStepByStep(t *testing.T) {
	t.Parallel()
	o, clock := newTestOrigins()
	fails(t, o, clock)
	clock.Add(30 * time.Second)
	var ends []time.Time // of what is in flight
	var begun, most [5]int
	for ms := range 5000 {
		for len(ends) > 0 && !ends[0].After(clock.Now()) {
			o.done(hooks, alive)
			ends = ends[1:]
		}
		for {
			if admitted, _ := o.admit(hooks); !admitted {
				break
			}
			begun[ms/1000]++
			ends = append(ends, clock.Now().Add(100*time.Millisecond))
		}
		most[ms/1000] = max(most[ms/1000], len(ends))
		clock.Add(time.Millisecond)
	}
	if begun[0] != 10 || most != [5]int{1, 2, 3, 4, 4} && most != [5]int{1, 3, 4, 4, 4} {
		t.Errorf("began %v in each second, up to %v at once", begun, most)
	}
	if begun[4] != 40 {
		t.Errorf("%d begin in a second after the recovery, want 40", begun[4])
	}
}

// One user's wrong URL must not keep others from the same origin.
func TestJudgeOrigin(t *testing.T) {
	t.Parallel()
	for attempt, want := range map[*sender.Attempt]verdict{
		{Status: 200}: alive,
		{Status: http.StatusMovedPermanently, Failure: sender.FailureStatus}:    alive,
		{Status: http.StatusNotFound, Failure: sender.FailureStatus}:            alive,
		{Status: http.StatusGone, Failure: sender.FailureStatus}:                alive,
		{Status: http.StatusRequestTimeout, Failure: sender.FailureStatus}:      failing,
		{Status: http.StatusTooManyRequests, Failure: sender.FailureStatus}:     failing,
		{Status: http.StatusInternalServerError, Failure: sender.FailureStatus}: failing,
		{Failure: sender.FailureTimeout}:                                        failing,
		{Failure: sender.FailureConnect}:                                        failing,
		{Failure: sender.FailureDNS}:                                            failing,
		{Failure: sender.FailureTLS}:                                            failing,
		{Failure: sender.FailureReset}:                                          failing,
		{Failure: sender.FailureProtocol}:                                       failing,
		{Failure: sender.FailureBlocked}:                                        unknown,
		{Failure: sender.FailureInvalid}:                                        unknown,
		{Failure: sender.FailureCanceled}:                                       unknown,
	} {
		if got := judgeOrigin(*attempt); got != want {
			t.Errorf("%d %s is %d, want %d", attempt.Status, attempt.Failure, got, want)
		}
	}
}

func TestOrigins_areForgotten(t *testing.T) {
	t.Parallel()
	o, clock := newTestOrigins()
	for i := range 1000 {
		name := fmt.Sprint(i)
		o.admit(name)
		o.done(name, failing)
	}
	wantAdmitted(t, o, true) // and stays in flight
	clock.Add(forgetAfter + time.Second)
	o.admit("new")
	if len(o.all) != 2 {
		t.Errorf("%d origins are remembered, want 2", len(o.all))
	}
}
