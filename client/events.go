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

// end is the final state of a subject. done is closed when status is set.
type end struct {
	done    chan struct{}
	status  string
	waiters int
}

// events remembers the final states that a receiver was told, at most 1,024 of them and the oldest
// leaves first, because an event may come before anyone waits for it.
type events struct {
	mu    sync.Mutex
	ends  map[subject]*end
	order []subject // of those that are done, a ring once it is full
	next  int
}

func newEvents() *events { return &events{ends: map[subject]*end{}} }

func (e *events) observe(eventType, id, status string) {
	if !final(status) {
		return
	}
	about := subject{gen.EventType(eventType), id}
	e.mu.Lock()
	defer e.mu.Unlock()
	known := e.end(about)
	if known.status != "" {
		return
	}
	known.status = status
	close(known.done)
	if len(e.order) < maxEvents {
		e.order = append(e.order, about)
		return
	}
	delete(e.ends, e.order[e.next])
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

// end returns the end of a subject. e.mu is held.
func (e *events) end(about subject) *end {
	known := e.ends[about]
	if known == nil {
		known = &end{done: make(chan struct{})}
		e.ends[about] = known
	}
	return known
}

// leave forgets a subject that nobody waits for any more and that has not ended.
func (e *events) leave(about subject, awaited *end) {
	e.mu.Lock()
	defer e.mu.Unlock()
	awaited.waiters--
	if awaited.waiters == 0 && awaited.status == "" {
		delete(e.ends, about)
	}
}
