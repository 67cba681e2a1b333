package client

import (
	"sync"

	"github.com/avatarstudio/avatarstudio/gen"
)

const maxEvents = 1024

// subject is what an event is about.
type subject struct {
	eventType gen.EventType
	id        string
}

// end is what ended a subject, or its way to the consent.
type end struct {
	pending chan struct{} // closed when status is set
	done    chan struct{} // closed when status is final
	status  string        // consent_pending or final; guarded by events.mu
	waiters int
	kept    bool // in events.order
}

// reached is closed when a wait may be over: in a final state, or earlier if consent_pending counts.
func (e *end) reached(consent bool) <-chan struct{} {
	if consent {
		return e.pending
	}
	return e.done
}

// events remembers the states of [end] that a receiver was told, of at most 1,024 subjects and the
// oldest leaves first, because an event may come before anyone waits for it.
type events struct {
	mu    sync.Mutex
	ends  map[subject]*end
	order []subject // of those that are kept, a ring once it is full
	next  int
}

func newEvents() *events { return &events{ends: map[subject]*end{}} }

func (e *events) observe(eventType, id, status string) {
	if !final(status) && !awaitsConsent(status) {
		return
	}
	about := subject{gen.EventType(eventType), id}
	e.mu.Lock()
	defer e.mu.Unlock()
	known := e.end(about)
	if final(known.status) || known.status == status {
		return
	}
	if known.status == "" {
		close(known.pending)
	}
	known.status = status
	if final(status) {
		close(known.done)
	}
	if !known.kept {
		e.keep(about, known)
	}
}

// keep remembers an end, and forgets the oldest one if there are too many. e.mu is held.
func (e *events) keep(about subject, known *end) {
	known.kept = true
	if len(e.order) < maxEvents {
		e.order = append(e.order, about)
		return
	}
	oldest := e.order[e.next]
	e.ends[oldest].kept = false
	e.forget(oldest)
	e.order[e.next] = about
	e.next = (e.next + 1) % maxEvents
}

// await returns the end of a subject, which may lie in the past. The caller must call leave.
func (e *events) await(about subject) *end {
	e.mu.Lock()
	defer e.mu.Unlock()
	awaited := e.end(about)
	awaited.waiters++
	return awaited
}

// status returns the status of an end.
func (e *events) status(of *end) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return of.status
}

// end returns the end of a subject. e.mu is held.
func (e *events) end(about subject) *end {
	known := e.ends[about]
	if known == nil {
		known = &end{pending: make(chan struct{}), done: make(chan struct{})}
		e.ends[about] = known
	}
	return known
}

func (e *events) leave(about subject, awaited *end) {
	e.mu.Lock()
	defer e.mu.Unlock()
	awaited.waiters--
	e.forget(about)
}

// forget drops the end of a subject that is neither kept nor waited for. e.mu is held.
func (e *events) forget(about subject) {
	if known := e.ends[about]; !known.kept && known.waiters == 0 {
		delete(e.ends, about)
	}
}
