package jobs

import (
	"context"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

const (
	// fetches is how many reads of the store there are at once, each for up to fetchLines lines.
	fetches    = 2
	fetchLines = 64
	// maxLoaded is how many deliveries of a line are in memory at most.
	maxLoaded = 64
	// maxLoadedAge is for how long they are believed. Others may delete their subjects, and replay
	// events that come before them.
	maxLoadedAge = time.Second
	// slowFetch is how long a read takes of which an operator should know, and maxMisses how often
	// nothing is found in a line although a scan says that events are due.
	slowFetch = 5 * time.Second
	maxMisses = 3
)

// deliverer delivers the events of the lanes that this process holds. One goroutine, that of run,
// owns the queue and the limits; others read the store, make attempts and record them, and tell it
// by call.
type deliverer struct {
	jobs  *Jobs
	calls chan func()
	ended chan struct{}    // closed when calls are not taken any more
	now   func() time.Time // of this process, which is never set
	// databaseNow is the time by which the store's times are due.
	databaseNow func() time.Time

	queue    *queue
	origins  *origins
	held     map[int]bool    // lanes
	lease    context.Context //nolint:containedctx // of the attempts; ended when the lanes are lost
	lose     context.CancelFunc
	holder   string       // that records are kept for
	atWork   [classes]int // by class
	wanted   []*line
	fetching int
	misses   map[store.Line]int // fetches that found nothing after a scan
	dropped  int                // how often lanes were; what was fetched before may be out of date

	ctx, stop context.Context //nolint:containedctx // those of run
	attempts  sync.WaitGroup
	others    sync.WaitGroup // that only run adds to
}

func newDeliverer(jobs *Jobs) *deliverer {
	return &deliverer{
		jobs: jobs, calls: make(chan func(), 1024), ended: make(chan struct{}), now: time.Now, databaseNow: jobs.Now,
		queue: newQueue(), origins: newOrigins(jobs.Config), held: make(map[int]bool),
		misses: make(map[store.Line]int),
	}
}

// run delivers until stop ends, and then waits for what is at work, which ending ctx cuts off.
func (d *deliverer) run(ctx, stop context.Context) {
	d.ctx, d.stop = ctx, stop
	d.lease, d.lose = context.WithCancel(ctx)
	defer func() { d.lose() }()
	defer d.others.Wait()
	defer close(d.ended)
	timer := time.NewTimer(0)
	defer timer.Stop()
	stopping, idle := stop.Done(), make(chan struct{})
	for {
		select {
		case <-stopping:
			stopping = nil
			go func() {
				d.attempts.Wait()
				close(idle)
			}()
		case <-idle:
			return
		case f := <-d.calls:
			f()
			for more := true; more; { // before anything is started for each
				select {
				case f := <-d.calls:
					f()
				default:
					more = false
				}
			}
		case <-timer.C:
		}
		if stop.Err() == nil {
			timer.Reset(d.start()) //nolint:contextcheck // attempts are made under the lease
		}
	}
}

// call makes run call f, unless it has ended.
func (d *deliverer) call(f func()) {
	select {
	case d.calls <- f:
	case <-d.ended:
	}
}

// hold begins to deliver for lanes, in the name of a holder.
func (d *deliverer) hold(holder string, lanes []int) {
	d.holder = holder
	if d.lease.Err() != nil {
		d.lease, d.lose = context.WithCancel(d.ctx)
	}
	var added []int
	for _, lane := range lanes {
		if !d.held[lane] {
			d.held[lane] = true
			added = append(added, lane)
		}
	}
	if len(added) > 0 {
		d.scan(added)
	}
}

// drop begins nothing more for lanes.
func (d *deliverer) drop(lanes []int) {
	d.dropped++
	for _, lane := range lanes {
		delete(d.held, lane)
	}
	for _, l := range d.queue.lines {
		if !d.held[l.lane] {
			d.clear(l)
		}
	}
}

// dropAll ends the attempts, too, because somebody else may make them from now on.
func (d *deliverer) dropAll() {
	d.lose()
	clear(d.held)
	d.drop(nil)
}

// idle returns those of some lanes for which nothing is at work.
func (d *deliverer) idle(lanes []int) (idle []int) {
	busy := make(map[int]bool)
	for _, l := range d.queue.lines {
		busy[l.lane] = busy[l.lane] || len(l.running) > 0
	}
	for _, lane := range lanes {
		if !busy[lane] {
			idle = append(idle, lane)
		}
	}
	return idle
}

// scan looks for all lines of some lanes that are held, and for the breakers that were open.
func (d *deliverer) scan(lanes []int) {
	if len(lanes) == 0 {
		return
	}
	d.others.Go(func() {
		breakers, err := d.jobs.Store.Breakers(d.stop)
		var lines []store.LineDue
		if err == nil {
			lines, err = d.jobs.Store.DueLines(d.stop, d.jobs.lanes(lanes))
		}
		d.jobs.report(d.stop, store.Deliver, err)
		if err != nil {
			pause(d.stop, errorPause)
		}
		d.call(func() {
			if err != nil {
				d.scan(lanes)
				return
			}
			for _, b := range breakers {
				d.origins.restore(b, d.now(), d.databaseNow())
			}
			for _, due := range lines {
				d.look(due.Line, d.local(due.At))
				if l := d.queue.lines[due.Line]; l != nil && len(l.running) == 0 && !due.At.After(d.databaseNow()) {
					l.scanned = true
				}
			}
		})
	})
}

// scanAll is scan for all lanes.
func (d *deliverer) scanAll() {
	var lanes []int
	for lane := range d.held {
		lanes = append(lanes, lane)
	}
	d.scan(lanes)
}

// local returns when a time of the database's is by the clock of this process.
func (d *deliverer) local(at time.Time) time.Time {
	return d.now().Add(at.Sub(d.databaseNow()))
}

// wake looks at lines in which events have become due, and returns those of other processes.
func (d *deliverer) wake(lines []store.Line) (others []store.Line) {
	now := d.now()
	for _, line := range lines {
		if !d.look(line, now) {
			others = append(others, line)
		}
	}
	return others
}

// readAgain believes nothing of what was read of some lines before.
func (d *deliverer) readAgain(lines []store.Line) {
	for _, key := range lines {
		if l := d.queue.lines[key]; l != nil {
			l.readAfter = d.now()
		}
	}
}

// look makes sure that a line is looked at by a time. It reports whether the line is held.
func (d *deliverer) look(key store.Line, at time.Time) bool {
	lane := d.jobs.lane(key.Origin)
	if !d.held[lane] {
		return false
	}
	l := d.queue.get(key, lane, d.origins.get)
	l.sooner(at)
	d.place(l)
	return true
}

// sooner makes a line be fetched by a time, and again after that when it is being fetched.
func (l *line) sooner(at time.Time) {
	if l.more.IsZero() || at.Before(l.more) {
		l.more = at
	}
}

// place puts a line where it is found when there is something to do in it.
func (d *deliverer) place(l *line) {
	now := d.now()
	switch {
	case l.fetching || l.blocked:
	case len(l.loaded) > 0 || !l.more.IsZero() && !l.more.After(now):
		d.queue.makeReady(l)
	case !l.more.IsZero():
		d.queue.makeLater(l, l.more)
	default:
		d.queue.leave(l)
	}
}

// clear forgets what waits in a line.
func (d *deliverer) clear(l *line) {
	l.loaded, l.more = nil, time.Time{}
	d.queue.unready(l)
	d.queue.unlater(l)
	if l.origin.remove(l) {
		d.unblock(l.origin)
	}
	d.queue.leave(l)
}

// start gives what is due to workers and returns how long there is nothing more to start, unless
// something changes.
func (d *deliverer) start() time.Duration {
	now := d.now()
	d.origins.sweep(now)
	d.queue.advance(now)
	for c := range classes {
		for {
			l, atWork := d.queue.first(c)
			// As many as a user has at work stay free, so another one need not wait.
			if l == nil || atWork >= d.room(c) || c != proven && atWork >= d.share() {
				break
			}
			d.startIn(l, c, now)
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
	room := workers - d.atWork[proven] - notProven
	if c != proven {
		room = min(room, d.doubtfulRoom()-notProven)
	}
	if c == failing {
		room = min(room-workers/16, max(workers/2, 1)-d.atWork[failing])
	}
	return room
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
