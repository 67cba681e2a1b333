package client

import (
	"cmp"
	"encoding/json"
	"sync"

	"github.com/avatarstudio/avatarstudio/gen"
)

const maxEvents = 1024

// subject is the avatar, video or lip-sync that an event is about.
type subject struct {
	eventType gen.EventType
	id        string
}

// end records the last event of a subject that a wait can end with.
type end struct {
	pending chan struct{} // closed when status is set
	done    chan struct{} // closed when status is final
	status  string        // consent_pending or a final status; guarded by events.mu
	waiters int
	kept    bool // listed in events.order
}

// reached returns a channel that is closed when the status is final or, if consent is true, also when it
// is consent_pending.
func (e *end) reached(consent bool) <-chan struct{} {
	if consent {
		return e.pending
	}
	return e.done
}

// events records the ends that a receiver or the stream of events observed, because an event may arrive before anyone
// waits for it. It keeps the latest 1,024 subjects.
type events struct {
	mu    sync.Mutex
	ends  map[subject]*end
	order []subject // kept subjects; a ring buffer once it is full
	next  int
}

func newEvents() *events { return &events{ends: map[subject]*end{}} }

// notify observes a notification in a stream.
func (e *events) notify(notification gen.Event) {
	var data struct {
		AvatarID    string `json:"avatar_id"`
		InferenceID string `json:"inference_id"`
		Status      string `json:"status"`
	}
	if json.Unmarshal(notification.Data, &data) == nil {
		e.observe(string(notification.EventType), cmp.Or(data.InferenceID, data.AvatarID), data.Status)
	}
}

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

// keep lists an end in order and drops the oldest one if there are too many. e.mu must be held.
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

// await returns the end of a subject, whether or not its event has arrived. The caller must call leave.
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

// end returns the end of a subject and creates it if necessary. e.mu must be held.
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

// forget drops the end of a subject that is neither kept nor waited for. e.mu must be held.
func (e *events) forget(about subject) {
	if known := e.ends[about]; !known.kept && known.waiters == 0 {
		delete(e.ends, about)
	}
}
