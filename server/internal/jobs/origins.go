package jobs

import (
	"net/http"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

const (
	// rampSuccesses is how many attempts must succeed before an origin that recovers may have one
	// more in flight.
	rampSuccesses = 10
	// forgetAfter is how long an origin is remembered that nothing is sent to.
	forgetAfter = 15 * time.Minute
)

// origins keeps the limits of each receiver: how many attempts are in flight, how many begin in
// a second, and a circuit breaker. All events for an origin are sent by one process, so the limits
// hold for all daemons together. It is not safe for concurrent use.
//
// After BreakAfter failures in a row the breaker opens: no attempt is made for BreakPause. Then
// one attempt is made as a probe. While it fails, the breaker opens again for twice as long, up to
// MaxBreakPause. After one that succeeds, one attempt in flight is allowed and a like share of the
// rate, and one more after every ten successes. The store remembers breakers that are open.
//
// Events that wait for an origin stay due in the store, with the tries they had.
type origins struct {
	cfg   Config
	all   map[string]*origin
	swept time.Time
}

type origin struct {
	name      string
	inFlight  int
	allowed   int       // in flight; the limit, or less while the origin recovers
	next      time.Time // when the next attempt begins if they are spread evenly
	used      time.Time
	answered  bool          // at least once
	failures  int           // in a row
	successes int           // since one more was allowed
	pause     time.Duration // of the breaker, the next time that it opens
	until     time.Time     // when the breaker lets a probe pass; zero while it is closed

	lines   map[*line]struct{}
	blocked []*line // that wait for room, the first of them first
	waker   *line   // that is made ready when the rate or the breaker lets an attempt pass
}

func newOrigins(cfg Config) *origins {
	return &origins{cfg: cfg, all: make(map[string]*origin)}
}

func (o *origin) class() class {
	switch {
	case o.failures > 0:
		return failing
	case o.answered:
		return proven
	default:
		return fresh
	}
}

func (o *origins) get(name string) *origin {
	known := o.all[name]
	if known == nil {
		known = &origin{name: name, allowed: o.cfg.InFlight, pause: o.cfg.BreakPause, lines: make(map[*line]struct{})}
		o.all[name] = known
	}
	return known
}

// free returns how many attempts may begin now. When it is none, at is when to ask again: the zero
// time when that is after the end of one in flight.
func (o *origins) free(origin *origin, now time.Time) (n int, at time.Time) {
	allowed := origin.allowed - origin.inFlight
	if !origin.until.IsZero() {
		if now.Before(origin.until) {
			return 0, origin.until
		}
		allowed = 1 - origin.inFlight // the probe
	}
	if allowed <= 0 {
		return 0, time.Time{}
	}
	interval := o.interval(origin)
	// A fifth of a second's worth may begin at once.
	burst := max(o.cfg.Rate*origin.allowed/o.cfg.InFlight/5, 1)
	earliest := origin.next.Add(-time.Duration(burst-1) * interval)
	if earliest.After(now) {
		return 0, earliest
	}
	return min(allowed, burst, int(now.Sub(earliest)/interval)+1), time.Time{}
}

// begin begins an attempt, which done ends.
func (o *origins) begin(origin *origin, now time.Time) {
	origin.inFlight++
	origin.used = now
	next := origin.next
	if next.Before(now) {
		next = now
	}
	origin.next = next.Add(o.interval(origin))
}

// verdict is what an attempt says about its origin.
type verdict int

const (
	verdictNone verdict = iota // nothing
	verdictUp                  // the origin answered, even if it refused the event
	verdictDown
)

// judgeOrigin leaves out what is the fault of one URL: others have theirs at the same origin.
func judgeOrigin(attempt sender.Attempt) verdict {
	switch attempt.Failure {
	case sender.FailureInvalid, sender.FailureBlocked, sender.FailureCanceled:
		return verdictNone
	case "":
		return verdictUp
	case sender.FailureStatus:
		if attempt.Status >= http.StatusInternalServerError || retriable(attempt.Status) {
			return verdictDown
		}
		return verdictUp
	default:
		return verdictDown
	}
}

// done ends an attempt. It reports whether the breaker opened, and for how long, or closed.
func (o *origins) done(origin *origin, v verdict, now time.Time) (opened time.Duration, closed bool) {
	origin.inFlight--
	origin.used = now
	switch v {
	case verdictUp:
		origin.answered = true
		return 0, o.succeeded(origin)
	case verdictDown:
		return o.failed(origin, now), false
	default:
		return 0, false
	}
}

func (o *origins) succeeded(origin *origin) (closed bool) {
	origin.failures = 0
	if closed = !origin.until.IsZero(); closed {
		origin.until, origin.allowed, origin.successes = time.Time{}, 1, 0
	}
	if origin.allowed == o.cfg.InFlight {
		return closed
	}
	if origin.successes++; origin.successes > rampSuccesses {
		origin.allowed++
		origin.successes = 1
	}
	if origin.allowed == o.cfg.InFlight {
		origin.pause = o.cfg.BreakPause // one that fails before is no better than it was
	}
	return closed
}

func (o *origins) failed(origin *origin, now time.Time) (opened time.Duration) {
	origin.failures++
	// The end of an attempt that began before the breaker opened says nothing new.
	if origin.failures < o.cfg.BreakAfter || now.Before(origin.until) {
		return 0
	}
	opened = origin.pause
	origin.until = now.Add(opened)
	origin.pause = min(2*opened, o.cfg.MaxBreakPause)
	return opened
}

// restore opens a breaker that was open in the store. One that is known to be open stays so.
func (o *origins) restore(b store.Breaker, now, database time.Time) {
	origin := o.get(b.Origin)
	if !origin.until.IsZero() {
		return
	}
	origin.used, origin.failures = now, o.cfg.BreakAfter
	origin.until = now.Add(min(max(b.Until.Sub(database), 0), b.Pause))
	origin.pause = min(2*b.Pause, o.cfg.MaxBreakPause)
}

// block makes a line wait until there is room, or for a time if that is not zero. It reports whether
// the line is the one that is to be made ready then; the others follow it one by one.
func (o *origin) block(l *line, at time.Time) (wakes bool) {
	if !at.IsZero() && o.waker == nil {
		o.waker = l
		return true
	}
	l.blocked = true
	o.blocked = append(o.blocked, l)
	return false
}

// woken says that a line does not wait any more.
func (o *origin) woken(l *line) {
	if o.waker == l {
		o.waker = nil
	}
}

// unblock returns the line that has waited the longest, which waits no more; nil when none does.
func (o *origin) unblock() *line {
	if len(o.blocked) == 0 {
		return nil
	}
	l := o.blocked[0]
	o.blocked[0], o.blocked = nil, o.blocked[1:]
	l.blocked = false
	return l
}

// remove makes a line wait no more. It reports whether it was to wake the others.
func (o *origin) remove(l *line) (wakes bool) {
	wakes = o.waker == l
	o.woken(l)
	if l.blocked {
		l.blocked = false
		o.blocked = slices.DeleteFunc(o.blocked, func(other *line) bool { return other == l })
	}
	return wakes
}

// interval is the time between attempts at the rate that the origin has.
func (o *origins) interval(origin *origin) time.Duration {
	return max(time.Second*time.Duration(o.cfg.InFlight)/time.Duration(o.cfg.Rate*origin.allowed), 1)
}

// sweep forgets, once in a while, the origins that nothing is sent to.
func (o *origins) sweep(now time.Time) {
	if now.Sub(o.swept) < forgetAfter {
		return
	}
	o.swept = now
	for name, origin := range o.all {
		if len(origin.lines) == 0 && now.Sub(origin.used) > forgetAfter && now.Sub(origin.until) > forgetAfter {
			delete(o.all, name)
		}
	}
}
