package deliver

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

const testOrigin = "https://hooks.example.com"

// testOrigins is origins with a clock and methods that take names.
type testOrigins struct {
	*origins
	clock *studiotest.Clock
}

// tryBegin begins an attempt if the limits allow one. It reports whether they do.
func (o testOrigins) tryBegin(name string) bool {
	free, _ := o.free(o.get(name), o.clock.Now())
	if free > 0 {
		o.beginAttempt(o.get(name), o.clock.Now())
	}
	return free > 0
}

func (o testOrigins) endAttempt(name string, result originResult) (opened time.Duration, closed bool) {
	return o.origins.endAttempt(o.get(name), result, o.clock.Now())
}

func newTestOrigins() (testOrigins, *studiotest.Clock) {
	clock := studiotest.NewClock()
	return testOrigins{newOrigins(Config{Now: clock.Now}.withDefaults()), clock}, clock
}

// openBreaker makes the breaker of testOrigin open by failures.
func openBreaker(t *testing.T, o testOrigins, clock *studiotest.Clock) {
	t.Helper()
	for i := range 10 {
		wantBegin(t, o, true)
		opened, _ := o.endAttempt(testOrigin, originDown)
		if want := i == 9; (opened > 0) != want {
			t.Fatalf("after %d failures the breaker opens for %v", i+1, opened)
		}
		clock.Add(20 * time.Millisecond)
	}
}

func wantBegin(t *testing.T, o testOrigins, want bool) {
	t.Helper()
	if got := o.tryBegin(testOrigin); got != want {
		t.Fatalf("admitted: %v, want %v", got, want)
	}
}

func TestOrigins_free_limitsTheAttempts(t *testing.T) {
	t.Parallel()
	if n := (Config{Workers: 2, Rate: 1000}).withDefaults().InFlight; n != 2 {
		t.Errorf("%d attempts may be in flight, want as many as workers", n)
	}
	o, clock := newTestOrigins()
	admitted := 0
	for range 10_000 { // ten seconds
		for o.tryBegin(testOrigin) {
			admitted++
			o.endAttempt(testOrigin, originUp)
		}
		clock.Add(time.Millisecond)
	}
	if admitted < 500 || admitted > 510 {
		t.Errorf("%d attempts in ten seconds, want 500 and up to 10 at once at the start", admitted)
	}
	for busy, want := range map[int]bool{7: true, 8: false} {
		d := &Deliverer{Config: Config{Workers: 2}, busyWorkers: [classes]int{busy - 2, 1, 1}}
		if got := d.mayOvercommit(new(user), proven); got != want {
			t.Errorf("a user gets an extra worker beside %d: %t, want %t", busy, got, want)
		}
	}
}

// After a restart the breaker is open for the rest of its pause, and never longer than the pause, even if the
// clock was set.
func TestOrigins_restore_opensTheBreakerForTheRemainingPause(t *testing.T) {
	t.Parallel()
	for left, want := range map[time.Duration]time.Duration{
		20 * time.Second: 20 * time.Second, -time.Hour: 0, time.Hour: 30 * time.Second,
	} {
		o, clock := newTestOrigins()
		o.restore(store.Breaker{Origin: testOrigin, Until: clock.Now().Add(left), Pause: 30 * time.Second}, clock.Now(), clock.Now())
		o.restore(store.Breaker{Origin: testOrigin, Until: clock.Now(), Pause: 30 * time.Second}, clock.Now(), clock.Now()) // is ignored
		if want > 0 {
			wantBegin(t, o, false)
		}
		clock.Add(want)
		wantBegin(t, o, true)
		wantBegin(t, o, false) // one probe
		if opened, _ := o.endAttempt(testOrigin, originDown); opened != time.Minute || o.recordFailure(o.get(testOrigin), clock.Now()) > 0 {
			t.Errorf("after a probe that fails the breaker opens for %v", opened)
		}
	}
}

// The pause doubles after each probe that fails. After one that succeeds, the limits are those of any origin, and so is
// the pause of the next breaker.
func TestOrigins_endAttempt_opensAndClosesTheBreaker(t *testing.T) {
	t.Parallel()
	o, clock := newTestOrigins()
	for range 2 {
		openBreaker(t, o, clock)
		clock.Add(-20 * time.Millisecond)
		for _, pause := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute} {
			wantBegin(t, o, false)
			clock.Add(pause - time.Millisecond)
			wantBegin(t, o, false)
			clock.Add(time.Millisecond)
			wantBegin(t, o, true)
			wantBegin(t, o, false) // one probe
			o.endAttempt(testOrigin, originDown)
		}
		clock.Add(maxBreakPause)
		wantBegin(t, o, true)
		if _, closed := o.endAttempt(testOrigin, originUp); !closed {
			t.Error("the breaker stays open")
		}
		for range 4 {
			wantBegin(t, o, true)
		}
		wantBegin(t, o, false)
		for range 4 {
			o.endAttempt(testOrigin, originUp)
		}
	}
}

// A wrong URL of one user must not open the breaker for other users of the same origin.
func TestOriginResultOf_ignoresErrorsOfSingleURLs(t *testing.T) {
	t.Parallel()
	for attempt, want := range map[*sender.Attempt]originResult{
		{Status: 200}: originUp,
		{Status: http.StatusMovedPermanently, Failure: sender.FailureStatus}:    originUp,
		{Status: http.StatusNotFound, Failure: sender.FailureStatus}:            originUp,
		{Status: http.StatusRequestTimeout, Failure: sender.FailureStatus}:      originDown,
		{Status: http.StatusTooManyRequests, Failure: sender.FailureStatus}:     originDown,
		{Status: http.StatusInternalServerError, Failure: sender.FailureStatus}: originDown,
		{Failure: sender.FailureTimeout}:                                        originDown,
		{Failure: sender.FailureConnect}:                                        originDown,
		{Failure: sender.FailureBlocked}:                                        originUnaffected,
		{Failure: sender.FailureInvalid}:                                        originUnaffected,
		{Failure: sender.FailureCanceled}:                                       originUnaffected,
	} {
		if got := originResultOf(*attempt); got != want {
			t.Errorf("%d %s is %d, want %d", attempt.Status, attempt.Failure, got, want)
		}
	}
}

func TestOrigins_sweep_forgetsIdleOrigins(t *testing.T) {
	t.Parallel()
	o, clock := newTestOrigins()
	for i := range 1000 {
		name := fmt.Sprint(i)
		o.tryBegin(name)
		o.endAttempt(name, originDown)
	}
	o.get(testOrigin).flows[new(flow)] = struct{}{} // a flow waits for this origin
	clock.Add(forgetIdleAfter + time.Second)
	o.sweep(clock.Now())
	if len(o.all) != 1 {
		t.Errorf("%d origins are remembered, want 1", len(o.all))
	}
}

// Otherwise it would have more than its turn once its origin lets attempts pass.
func TestDeliverer_reschedule_leavesABlockedFlowAsItIs(t *testing.T) {
	t.Parallel()
	d := &Deliverer{now: time.Now, queue: newQueue()}
	f := d.queue.get(store.Flow{}, 0, newOrigins(Config{}).get)
	f.loaded = make([]store.Delivery, 1)
	f.origin.block(f, time.Time{})
	d.reschedule(f)
	if f.readyElement != nil {
		t.Error("a blocked flow is ready")
	}
}
