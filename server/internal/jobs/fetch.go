package jobs

import (
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

const (
	// fetches is how many reads of the store there are at once, each for up to fetchLines lines.
	fetches    = 2
	fetchLines = 64
	// maxLoaded is how many deliveries of a line are in memory at most.
	maxLoaded = 64
	// maxLoadedAge is for how long they are believed. Others may replay events that come before them,
	// and what others say of deletions may be lost.
	maxLoadedAge = time.Second
	// slowFetch is how long a read takes of which an operator should know, and maxMisses how often
	// nothing is found in a line although a scan says that events are due.
	slowFetch = 5 * time.Second
	maxMisses = 3
)

// fetch reads what is due in the lines that want it.
func (d *deliverer) fetch() {
	for len(d.wanted) > 0 && d.fetching < fetches {
		n := min(len(d.wanted), fetchLines)
		lines := d.wanted[:n:n]
		d.wanted = d.wanted[n:]
		wants := make([]store.Want, n)
		for i, l := range lines {
			// What is running is among the first that are due.
			wants[i] = store.Want{Line: l.Line, Limit: len(l.running) + min(2*d.jobs.InFlight, maxLoaded)}
		}
		d.fetching++
		read := d.now()
		dropped := d.dropped
		d.others.Go(func() {
			all, err := d.jobs.Store.Deliveries(d.stop, wants)
			d.jobs.report(d.stop, store.Deliver, err)
			if took := d.now().Sub(read); took > slowFetch {
				d.jobs.Logger.WarnContext(d.stop, "reading what is due is slow", "lines", n, "duration", took)
			}
			d.call(func() {
				d.fetching--
				for i, l := range lines {
					if dropped != d.dropped {
						all[i] = nil
						l.sooner(d.now())
					}
					l.read = read
					d.fetched(l, wants[i].Limit, all[i], err)
				}
			})
		})
	}
}

// fetched takes what was due in a line.
func (d *deliverer) fetched(l *line, limit int, all []store.Delivery, err error) {
	l.fetching = false
	now := d.now()
	switch {
	case !d.held[l.lane]:
		d.clear(l)
		return
	case err != nil:
		l.sooner(now.Add(errorPause))
	case len(all) == limit && !all[limit-1].DueAt.After(d.databaseNow()):
		l.sooner(now) // there may be more
	}
	d.missed(l, err == nil && len(all) == 0 && len(l.ended) == 0)
	due := d.databaseNow()
	for _, next := range all {
		atWork, running := l.running[next.Event.SubjectID]
		before, ended := l.ended[next.Event.SubjectID]
		switch {
		// Who works on it says when there is more, unless that came after the record.
		case running:
			if atWork != next.Event.ID {
				l.running[next.Event.SubjectID] = ""
			}
		case ended:
			if before != next.Event.ID {
				l.sooner(now)
			}
		case next.DueAt.After(due):
			l.sooner(d.local(next.DueAt))
		default:
			l.loaded = append(l.loaded, next)
		}
	}
	l.ended = nil
	d.place(l)
}

// missed says so when nothing was found in a line, again and again, although a scan said that events
// are due. Once is no reason: others may have ended them meanwhile.
func (d *deliverer) missed(l *line, nothing bool) {
	switch {
	case !nothing:
		delete(d.misses, l.Line)
	case l.scanned:
		if d.misses[l.Line]++; d.misses[l.Line] == maxMisses {
			delete(d.misses, l.Line)
			d.jobs.Logger.ErrorContext(d.ctx, "events are due and none is found", "user", l.UserID, "origin", l.Origin)
		}
	}
	l.scanned = false
}
