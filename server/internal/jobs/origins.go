package jobs

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/sender"
)

const (
	// rampSuccesses is how many attempts must succeed before an origin that recovers may have one
	// more in flight.
	rampSuccesses = 10
	// forgetAfter is how long an origin is remembered that nothing is sent to.
	forgetAfter = 15 * time.Minute
	// crowdedPause is how long a failing origin waits when others like it have their share of workers.
	crowdedPause = time.Second
)

// origins keeps the limits of each receiver: how many attempts are in flight, how many begin in
// a second, and a circuit breaker. It is in memory, so the limits are those of one daemon, and a
// restart forgets what a breaker knew; ten failures teach it again.
//
// After BreakAfter failures in a row the breaker opens: no attempt is made for BreakPause. Then
// one attempt is made as a probe. While it fails, the breaker opens again for twice as long, up to
// MaxBreakPause. After one that succeeds, one attempt in flight is allowed and a like share of the
// rate, and one more after every ten successes.
//
// All origins whose last attempt failed share half of the workers, so that many that hang leave
// the other half to those that answer.
//
// Events that wait for an origin stay due in the store, with the tries they had.
type origins struct {
	cfg Config

	mu      sync.Mutex
	all     map[string]*origin
	swept   time.Time
	suspect int // attempts in flight to origins that were failing when they began
	waiting int // callers of admitWithin
}

type origin struct {
	inFlight  int
	suspect   int       // of those in flight
	allowed   int       // in flight; the limit, or less while the origin recovers
	next      time.Time // when the next attempt begins if they are spread evenly
	turn      time.Time // the last that was given to an attempt that was turned away
	used      time.Time
	failures  int           // in a row
	successes int           // since one more was allowed
	pause     time.Duration // of the breaker, the next time that it opens
	until     time.Time     // when the breaker lets a probe pass; zero while it is closed
	waiting   int           // callers of admitWithin
	ended     chan struct{} // receives when an attempt has ended, for one of them
}

func newOrigins(cfg Config) *origins {
	return &origins{cfg: cfg, all: make(map[string]*origin), swept: cfg.Now()}
}

// free returns how many attempts may begin now. When it is none, at is when to ask again: the zero
// time when that is after the end of one in flight.
func (o *origins) free(name string) (n int, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.freeOf(o.get(name), o.cfg.Now())
}

// admit begins an attempt, which [origins.done] ends. When none may begin, it returns a time to
// come again. Each caller gets another, so that they come no faster than the rate.
func (o *origins) admit(name string) (admitted bool, at time.Time) {
	return o.admitWithin(context.Background(), name, 0)
}

// admitWithin is admit that waits for a while if an attempt may begin in it. Few may wait for one
// origin, and no more than half of the workers for all.
func (o *origins) admitWithin(ctx context.Context, name string, limit time.Duration) (admitted bool, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.cfg.Now()
	o.sweep(now)
	origin := o.get(name)
	for deadline := now.Add(limit); ; now = o.cfg.Now() {
		origin.used = now
		free, at := o.freeOf(origin, now)
		if free > 0 {
			o.begin(origin, now)
			return true, time.Time{}
		}
		if at.IsZero() {
			at = deadline // or the end of one in flight
		}
		if !now.Before(deadline) || at.After(deadline) || ctx.Err() != nil ||
			origin.waiting >= 2*o.cfg.InFlight || o.waiting >= o.cfg.Workers/2 {
			origin.turn = latest(origin.turn, at, now).Add(o.interval(origin))
			return false, origin.turn
		}
		o.wait(ctx, origin, at.Sub(now))
	}
}

// wait waits for the end of an attempt, and not longer than d. Others may use o meanwhile.
func (o *origins) wait(ctx context.Context, origin *origin, d time.Duration) {
	origin.waiting++
	o.waiting++
	o.mu.Unlock()
	timer := time.NewTimer(d)
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-origin.ended:
	}
	timer.Stop()
	o.mu.Lock()
	origin.waiting--
	o.waiting--
}

func (o *origins) begin(origin *origin, now time.Time) {
	origin.inFlight++
	if origin.failures > 0 {
		origin.suspect++
		o.suspect++
	}
	origin.next = latest(origin.next, now).Add(o.interval(origin))
}

// verdict is what an attempt says about its origin.
type verdict int

const (
	unknown verdict = iota // nothing
	alive                  // it works, whatever it thinks of the event
	failing
)

// judgeOrigin leaves out what is the fault of one URL: others have theirs at the same origin.
func judgeOrigin(attempt sender.Attempt) verdict {
	switch attempt.Failure {
	case sender.FailureInvalid, sender.FailureBlocked, sender.FailureCanceled:
		return unknown
	case "":
		return alive
	case sender.FailureStatus:
		if attempt.Status >= http.StatusInternalServerError || retriable(attempt.Status) {
			return failing
		}
		return alive
	default:
		return failing
	}
}

// done ends an attempt. It reports whether the breaker opened, and for how long, or closed.
func (o *origins) done(name string, v verdict) (opened time.Duration, closed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.cfg.Now()
	origin := o.get(name)
	origin.inFlight--
	if origin.waiting > 0 {
		select {
		case origin.ended <- struct{}{}:
		default:
		}
	}
	if origin.suspect > 0 {
		origin.suspect--
		o.suspect--
	}
	origin.used = now
	switch v {
	case alive:
		return 0, o.succeeded(origin)
	case failing:
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

func (o *origins) freeOf(origin *origin, now time.Time) (n int, at time.Time) {
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
	if origin.failures > 0 {
		if allowed = min(allowed, max(o.cfg.Workers/2, 1)-o.suspect); allowed <= 0 {
			return 0, now.Add(crowdedPause)
		}
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

// interval is the time between attempts at the rate that the origin has.
func (o *origins) interval(origin *origin) time.Duration {
	return max(time.Second*time.Duration(o.cfg.InFlight)/time.Duration(o.cfg.Rate*origin.allowed), 1)
}

func (o *origins) get(name string) *origin {
	known := o.all[name]
	if known == nil {
		known = &origin{allowed: o.cfg.InFlight, pause: o.cfg.BreakPause, ended: make(chan struct{}, o.cfg.InFlight)}
		o.all[name] = known
	}
	return known
}

// sweep forgets, once in a while, the origins that nothing is sent to.
func (o *origins) sweep(now time.Time) {
	if now.Sub(o.swept) < forgetAfter {
		return
	}
	o.swept = now
	for name, origin := range o.all {
		if origin.inFlight == 0 && origin.waiting == 0 && now.Sub(latest(origin.used, origin.until, origin.turn)) > forgetAfter {
			delete(o.all, name)
		}
	}
}

func latest(times ...time.Time) time.Time {
	var last time.Time
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}
