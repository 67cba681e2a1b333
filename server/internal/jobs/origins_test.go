package jobs

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

const hooks = "https://hooks.example.com"

// testOrigins is origins with a clock, by their names.
type testOrigins struct {
	*origins
	clock *studiotest.Clock
}

func (o testOrigins) admit(name string) bool {
	free, _ := o.free(o.get(name), o.clock.Now())
	if free > 0 {
		o.begin(o.get(name), o.clock.Now())
	}
	return free > 0
}

func (o testOrigins) done(name string, v verdict) (opened time.Duration, closed bool) {
	return o.origins.done(o.get(name), v, o.clock.Now())
}

func newTestOrigins() (testOrigins, *studiotest.Clock) {
	clock := studiotest.NewClock()
	return testOrigins{newOrigins(New(Config{Now: clock.Now}).Config), clock}, clock
}

// fails makes the breaker of hooks open.
func fails(t *testing.T, o testOrigins, clock *studiotest.Clock) {
	t.Helper()
	for i := range 10 {
		wantAdmitted(t, o, true)
		opened, _ := o.done(hooks, verdictDown)
		if want := i == 9; (opened > 0) != want {
			t.Fatalf("after %d failures the breaker opens for %v", i+1, opened)
		}
		clock.Add(20 * time.Millisecond)
	}
}

func wantAdmitted(t *testing.T, o testOrigins, want bool) {
	t.Helper()
	if got := o.admit(hooks); got != want {
		t.Fatalf("admitted: %v, want %v", got, want)
	}
}

func TestOrigins_fourInFlight(t *testing.T) {
	t.Parallel()
	o, clock := newTestOrigins()
	for range 4 {
		wantAdmitted(t, o, true)
	}
	wantAdmitted(t, o, false)
	if free, at := o.free(o.get(hooks), clock.Now()); free != 0 || !at.IsZero() {
		t.Errorf("%d free at %v, want none until one ends", free, at)
	}
	if !o.admit("https://other.example.com") {
		t.Error("another origin waits for this one")
	}
	clock.Add(time.Second)
	wantAdmitted(t, o, false)
	o.done(hooks, verdictUp)
	wantAdmitted(t, o, true)
	wantAdmitted(t, o, false)
}

func TestOrigins_fiftyInASecond(t *testing.T) {
	t.Parallel()
	o, clock := newTestOrigins()
	admitted := 0
	for range 10_000 { // ten seconds
		for o.admit(hooks) {
			admitted++
			o.done(hooks, verdictUp)
		}
		clock.Add(time.Millisecond)
	}
	if admitted < 500 || admitted > 510 {
		t.Errorf("%d attempts in ten seconds, want 500 and up to 10 at once at the start", admitted)
	}
}

// A restart opens the breaker again for what is left of its pause, whatever has become of the clock.
func TestOrigins_aBreakerSurvivesARestart(t *testing.T) {
	t.Parallel()
	for left, want := range map[time.Duration]time.Duration{
		20 * time.Second: 20 * time.Second, -time.Hour: 0, time.Hour: 30 * time.Second,
	} {
		o, clock := newTestOrigins()
		o.restore(store.Breaker{Origin: hooks, Until: clock.Now().Add(left), Pause: 30 * time.Second}, clock.Now(), clock.Now())
		if want > 0 {
			wantAdmitted(t, o, false)
		}
		clock.Add(want)
		wantAdmitted(t, o, true)
		wantAdmitted(t, o, false) // one probe
		if opened, _ := o.done(hooks, verdictDown); opened != time.Minute {
			t.Errorf("after a probe that fails the breaker opens for %v", opened)
		}
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
		o.done(hooks, verdictDown)
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
			o.done(hooks, verdictUp)
			ends = ends[1:]
		}
		for o.admit(hooks) {
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
		{Status: 200}: verdictUp,
		{Status: http.StatusMovedPermanently, Failure: sender.FailureStatus}:    verdictUp,
		{Status: http.StatusNotFound, Failure: sender.FailureStatus}:            verdictUp,
		{Status: http.StatusGone, Failure: sender.FailureStatus}:                verdictUp,
		{Status: http.StatusRequestTimeout, Failure: sender.FailureStatus}:      verdictDown,
		{Status: http.StatusTooManyRequests, Failure: sender.FailureStatus}:     verdictDown,
		{Status: http.StatusInternalServerError, Failure: sender.FailureStatus}: verdictDown,
		{Failure: sender.FailureTimeout}:                                        verdictDown,
		{Failure: sender.FailureConnect}:                                        verdictDown,
		{Failure: sender.FailureDNS}:                                            verdictDown,
		{Failure: sender.FailureTLS}:                                            verdictDown,
		{Failure: sender.FailureReset}:                                          verdictDown,
		{Failure: sender.FailureProtocol}:                                       verdictDown,
		{Failure: sender.FailureBlocked}:                                        verdictNone,
		{Failure: sender.FailureInvalid}:                                        verdictNone,
		{Failure: sender.FailureCanceled}:                                       verdictNone,
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
		o.done(name, verdictDown)
	}
	o.get(hooks).lines[new(line)] = struct{}{} // something waits
	clock.Add(forgetAfter + time.Second)
	o.sweep(clock.Now())
	if len(o.all) != 1 {
		t.Errorf("%d origins are remembered, want 1", len(o.all))
	}
}
