package jobs

import (
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

// mostAttempts is how many attempts are made at once at most, in multiples of the workers, when more
// users than there are workers have one each.
const mostAttempts = 4

// start gives what is due to workers and returns how long there is nothing more to start, unless
// something changes.
func (d *deliverer) start() time.Duration {
	if d.lapsed() {
		d.dropAll()
	}
	now := d.now()
	d.origins.sweep(now)
	d.queue.advance(now)
	for c := range classes {
		for {
			l, atWork := d.queue.first(c)
			// As many as a user has at work stay free, so another one need not wait.
			full := atWork >= d.room(c) || c != proven && atWork >= d.share()
			if l == nil || full && !d.extra(l.user, c) {
				break
			}
			// A time of its own: a line that has become due since now would be ready and never be begun.
			d.startIn(l, c, d.now())
		}
	}
	d.fetch()
	next := d.queue.firstLater()
	if next.IsZero() {
		return d.jobs.safetyNet
	}
	return max(next.Sub(now), 0)
}

// room is how many workers are free for a class. Origins that have not answered lately share three
// quarters of the workers, and half of them those whose last attempt failed, which leave some free for
// new ones.
func (d *deliverer) room(c class) int {
	workers, notProven := d.jobs.Workers, d.atWork[fresh]+d.atWork[failing]
	room := workers - d.atWork[proven] - min(notProven, d.doubtfulRoom())
	if c != proven {
		room = min(room, d.doubtfulRoom()-notProven)
	}
	if c == failing {
		room = min(room-workers/16, max(workers/2, 1)-d.atWork[failing])
	}
	return room
}

// extra reports whether a user gets one worker more than there are, because the others are all at work
// and none for this user. Only an origin whose last attempt failed waits for one of the others.
func (d *deliverer) extra(u *user, c class) bool {
	return c != failing && u.atWork == [classes]int{} && d.atWork[proven]+d.atWork[fresh]+d.atWork[failing] < mostAttempts*d.jobs.Workers
}

// share is how many a user may have at work for origins that have not answered lately. It leaves as
// many to one who comes later, however many users there are whose origins hang.
func (d *deliverer) share() int { return max(d.doubtfulRoom()/(d.queue.doubtful+1), 1) }

// doubtfulRoom is how many workers origins that have not answered lately share.
func (d *deliverer) doubtfulRoom() int { return max(d.jobs.Workers*3/4, 1) }

// startIn starts the first delivery of a line, or has the line fetched.
func (d *deliverer) startIn(l *line, c class, now time.Time) {
	d.queue.unready(l)
	l.origin.woken(l)
	if l.origin.class() != c {
		d.place(l)
		return
	}
	if len(l.loaded) > 0 && (now.Sub(l.read) > maxLoadedAge || l.readAfter.After(l.read)) {
		l.loaded, l.more = nil, now
	}
	if len(l.loaded) == 0 {
		if l.more.IsZero() || l.more.After(now) {
			d.place(l)
			d.unblock(l.origin)
			return
		}
		l.fetching, l.more, l.ended = true, time.Time{}, nil
		d.wanted = append(d.wanted, l)
		d.unblock(l.origin)
		return
	}
	free, at := d.origins.free(l.origin, now)
	if free == 0 {
		if l.origin.block(l, at) {
			d.queue.makeLater(l, at)
		}
		return
	}
	next := l.loaded[0]
	l.loaded = l.loaded[1:]
	d.origins.begin(l.origin, now)
	l.running[next.Event.SubjectID] = next.Event.ID
	d.atWork[c]++
	d.queue.worked(l.user, c, 1)
	d.queue.passed(l.user, c)
	d.place(l)
	d.unblock(l.origin)
	lease, holder := d.lease, d.holder
	d.attempts.Go(func() {
		again := d.work(lease, holder, l, next)
		d.call(func() { d.worked(l, c, next.Event.SubjectID, again) })
	})
}

// worked ends the work on a subject, which has more to deliver at a time, unless that is zero.
func (d *deliverer) worked(l *line, c class, subjectID string, again time.Time) {
	event := l.running[subjectID]
	delete(l.running, subjectID)
	if l.fetching {
		if l.ended == nil {
			l.ended = make(map[string]string)
		}
		l.ended[subjectID] = event
	}
	d.atWork[c]--
	d.queue.worked(l.user, c, -1)
	if !again.IsZero() && d.held[l.lane] {
		l.sooner(d.local(again))
	}
	if event == "" && d.held[l.lane] { // a later one came after the record
		l.sooner(d.now())
	}
	d.place(l)
}

// attempted ends an attempt for its origin.
func (d *deliverer) attempted(l *line, v verdict) {
	o := l.origin
	before := o.class()
	opened, closed := d.origins.done(o, v, d.now())
	if o.class() != before {
		d.queue.reclassify(o)
	}
	d.unblock(o)
	if opened > 0 {
		d.jobs.Logger.WarnContext(d.ctx, "origin is failing", "origin", o.name, "pause", opened)
		breaker := store.Breaker{Origin: o.name, Until: d.databaseNow().Add(opened), Pause: opened}
		d.others.Go(func() { d.jobs.report(d.ctx, "breaker", d.jobs.Store.SaveBreaker(d.ctx, breaker)) })
	}
	if closed {
		d.jobs.Logger.InfoContext(d.ctx, "origin recovers", "origin", o.name)
		d.others.Go(func() { d.jobs.report(d.ctx, "breaker", d.jobs.Store.ForgetBreaker(d.ctx, o.name)) })
	}
}

// unblock lets the first line look whether its origin has room.
func (d *deliverer) unblock(o *origin) {
	if l := o.unblock(); l != nil {
		d.place(l)
	}
}
