package deliver

import (
	"net/http"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

const (
	// firstBreakPause is how long an open circuit breaker blocks attempts. The pause doubles each time the probe after
	// it fails, up to maxBreakPause.
	firstBreakPause = 30 * time.Second
	maxBreakPause   = 5 * time.Minute
	// forgetIdleAfter is how long an idle origin stays in memory.
	forgetIdleAfter = 15 * time.Minute
)

// origins holds the limits of each origin: an in-flight limit, a rate limit and a circuit breaker. One process begins
// all attempts for an origin, so the limits hold across all daemons. It is not safe for concurrent use.
//
// The breaker opens after BreakAfter consecutive failures. An open breaker blocks all attempts for
// firstBreakPause and then lets one attempt pass, the probe. If the probe fails, the breaker opens again for
// twice as long, up to maxBreakPause. If the probe succeeds, the breaker closes. The store keeps open breakers across
// restarts.
//
// Events that wait for an origin stay due in the store. Waiting does not count as an attempt.
type origins struct {
	cfg       Config
	all       map[string]*origin
	lastSweep time.Time
}

// origin is the state of one origin.
type origin struct {
	name       string
	inFlight   int
	nextStart  time.Time // when the next attempt begins at an even rate
	lastUsed   time.Time
	responded  bool          // the origin has responded at least once
	failures   int           // consecutive
	breakPause time.Duration // how long the breaker opens the next time
	openUntil  time.Time     // when the open breaker lets a probe pass; zero if it is closed

	flows     map[*flow]struct{}
	blocked   []*flow // flows that wait for this origin, the oldest first
	timedFlow *flow   // the flow scheduled for when the rate or the breaker lets an attempt pass
}

func newOrigins(cfg Config) *origins {
	return &origins{cfg: cfg, all: make(map[string]*origin)}
}

// class returns the class of the origin by its last attempts.
func (o *origin) class() class {
	switch {
	case o.failures > 0:
		return failing
	case o.responded:
		return proven
	default:
		return untried
	}
}

// get returns the origin with a name, and adds it if it is new.
func (o *origins) get(name string) *origin {
	known := o.all[name]
	if known == nil {
		known = &origin{name: name, breakPause: firstBreakPause, flows: make(map[*flow]struct{})}
		o.all[name] = known
	}
	return known
}

// free returns how many attempts may begin now. If n is 0, at is when an attempt may begin, or the zero
// time if one in flight must end first.
func (o *origins) free(origin *origin, now time.Time) (n int, at time.Time) {
	allowed := o.cfg.InFlight - origin.inFlight
	if !origin.openUntil.IsZero() {
		if now.Before(origin.openUntil) {
			return 0, origin.openUntil
		}
		allowed = 1 - origin.inFlight // the probe
	}
	if allowed <= 0 {
		return 0, time.Time{}
	}
	interval := o.interval()
	burst := max(o.cfg.Rate/5, 1) // the attempts of a fifth of a second
	earliest := origin.nextStart.Add(-time.Duration(burst-1) * interval)
	if earliest.After(now) {
		return 0, earliest
	}
	return min(allowed, burst, int(now.Sub(earliest)/interval)+1), time.Time{}
}

// beginAttempt counts an attempt that begins, until endAttempt.
func (o *origins) beginAttempt(origin *origin, now time.Time) {
	origin.inFlight++
	next := origin.nextStart
	if next.Before(now) {
		next = now
	}
	origin.nextStart = next.Add(o.interval())
}

// originResult is the effect of an attempt on its origin.
type originResult int

const (
	originUnaffected originResult = iota // the attempt gives no information about the origin
	originUp                             // the origin responded, even if it rejected the event
	originDown                           // the origin failed
)

// originResultOf returns the result of an attempt. A failure of a single URL, such as a 404, is no failure
// of the origin, because other users have other URLs there.
func originResultOf(attempt sender.Attempt) originResult {
	switch attempt.Failure {
	case sender.FailureInvalid, sender.FailureBlocked, sender.FailureCanceled:
		return originUnaffected
	case "":
		return originUp
	case sender.FailureStatus:
		if attempt.Status >= http.StatusInternalServerError || retriable(attempt.Status) {
			return originDown
		}
		return originUp
	default:
		return originDown
	}
}

// endAttempt counts the end of an attempt. It returns for how long the breaker opened, 0 if it did not
// open, and whether it closed.
func (o *origins) endAttempt(origin *origin, result originResult, now time.Time) (opened time.Duration, closed bool) {
	origin.inFlight--
	origin.lastUsed = now
	switch result {
	case originUp:
		closed = !origin.openUntil.IsZero()
		origin.responded, origin.failures, origin.openUntil, origin.breakPause = true, 0, time.Time{}, firstBreakPause
	case originDown:
		opened = o.recordFailure(origin, now)
	case originUnaffected:
	}
	return opened, closed
}

// recordFailure counts a failure. It returns for how long the breaker opened, 0 if it did not open.
func (o *origins) recordFailure(origin *origin, now time.Time) (opened time.Duration) {
	origin.failures++
	// An attempt that began before the breaker opened does not open it again.
	if origin.failures < o.cfg.BreakAfter || now.Before(origin.openUntil) {
		return 0
	}
	opened = origin.breakPause
	origin.openUntil = now.Add(opened)
	origin.breakPause = min(2*opened, maxBreakPause)
	return opened
}

// restore opens a breaker that the store holds as open. A breaker that is open in memory is unchanged. now
// is the time of this process and database that of the database.
func (o *origins) restore(b store.Breaker, now, database time.Time) {
	origin := o.get(b.Origin)
	if !origin.openUntil.IsZero() {
		return
	}
	origin.lastUsed, origin.failures = now, o.cfg.BreakAfter
	origin.openUntil = now.Add(min(max(b.Until.Sub(database), 0), b.Pause))
	origin.breakPause = min(2*b.Pause, maxBreakPause)
}

// closeBreakers forgets the failures of the origins in lanes, because another process has made attempts since. The
// breakers that are open now are opened by restore.
func (o *origins) closeBreakers(lanes []int) {
	for name, origin := range o.all {
		if slices.Contains(lanes, store.Lane(name)) {
			origin.failures, origin.openUntil, origin.breakPause = 0, time.Time{}, firstBreakPause
		}
	}
}

// block makes a flow wait for its origin. If at is not zero, the first such flow is to be scheduled for at,
// and block reports true for it. All other flows wait in order, and unblock returns them one by one.
func (o *origin) block(f *flow, at time.Time) (timed bool) {
	if !at.IsZero() && o.timedFlow == nil {
		o.timedFlow = f
		return true
	}
	f.blocked = true
	o.blocked = append(o.blocked, f)
	return false
}

// clearTimed removes f as the scheduled flow.
func (o *origin) clearTimed(f *flow) {
	if o.timedFlow == f {
		o.timedFlow = nil
	}
}

// unblock removes the flow that has waited the longest from the blocked flows and returns it, or nil if no
// flow is blocked.
func (o *origin) unblock() *flow {
	if len(o.blocked) == 0 {
		return nil
	}
	f := o.blocked[0]
	o.blocked[0], o.blocked = nil, o.blocked[1:]
	f.blocked = false
	return f
}

// removeBlocked removes a flow from the waiting flows. It reports whether f was the scheduled flow, after
// which the caller unblocks another one.
func (o *origin) removeBlocked(f *flow) (wasTimed bool) {
	wasTimed = o.timedFlow == f
	o.clearTimed(f)
	if f.blocked {
		f.blocked = false
		o.blocked = slices.DeleteFunc(o.blocked, func(other *flow) bool { return other == f })
	}
	return wasTimed
}

// interval returns the time between attempts for an origin at an even rate.
func (o *origins) interval() time.Duration { return max(time.Second/time.Duration(o.cfg.Rate), 1) }

// sweep removes idle origins, at most once every forgetIdleAfter.
func (o *origins) sweep(now time.Time) {
	if now.Sub(o.lastSweep) < forgetIdleAfter {
		return
	}
	o.lastSweep = now
	for name, origin := range o.all {
		if len(origin.flows) == 0 && now.Sub(origin.lastUsed) > forgetIdleAfter && now.Sub(origin.openUntil) > forgetIdleAfter {
			delete(o.all, name)
		}
	}
}
