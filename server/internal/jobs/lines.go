package jobs

import (
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

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

// readAgain believes nothing of what was read of some lines before, and returns those of other processes.
func (d *deliverer) readAgain(lines []store.Line) (others []store.Line) {
	for _, key := range lines {
		if !d.held[d.jobs.lane(key.Origin)] {
			others = append(others, key)
		}
		if l := d.queue.lines[key]; l != nil {
			l.readAfter = d.now()
		}
	}
	return others
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
