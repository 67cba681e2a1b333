package deliver

import (
	"cmp"
	"container/heap"
	"container/list"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

// queue is a fair queue of flows. It returns the flow that gets the next free worker: that of the user with
// the fewest busy workers, and of the flows of this user the one that has waited the longest.
//
// Each class of origins is scheduled separately, because unproven origins may use only a part of the
// workers. It is not safe for concurrent use.
type queue struct {
	flows      map[store.Flow]*flow
	users      map[string]*user
	readyUsers [classes]indexedHeap[*user] // the users with ready flows, by class
	scheduled  indexedHeap[*flow]          // the earliest first
	served     int
}

// class classifies origins by their last attempt. An origin that is not proven is unproven.
type class int

const (
	proven  class = iota // the last attempt did not fail
	untried              // there was no attempt yet
	failing              // the last attempt failed
	classes
)

// user is the flows of one user.
type user struct {
	id          string
	flowCount   int
	readyFlows  [classes]*list.List // lists of *flow, the longest waiting first, by class
	busyWorkers [classes]int
	lastServed  [classes]int // the value of queue.served when the user last got a worker
	heapIndexes [classes]int // in readyUsers; -1 if the user is not there
}

// flow is the deliveries of one user to one origin.
type flow struct {
	store.Flow
	user   *user
	origin *origin
	lane   int

	loaded           []store.Delivery
	loadedAt         time.Time          // when the read of loaded began
	invalidatedAt    time.Time          // loaded is stale if it was read before this time
	running          map[string]attempt // by subject
	endedDuringFetch map[string]attempt // the entries of running that were removed during the current read
	fetchAt          time.Time          // when to read the flow again; zero if it has no more pending events
	fetching         bool
	blocked          bool // the flow waits in origin.blocked

	class        class
	readyElement *list.Element // in user.readyFlows; nil if the flow is not ready
	readyAt      time.Time     // when a scheduled flow becomes ready
	heapIndex    int           // in queue.scheduled; -1 if the flow is not there
}

// attempt is a running attempt to deliver an event.
type attempt struct {
	eventID  string
	followed bool // a read found a later event of the subject, which the attempt may not know
}

func newQueue() *queue {
	q := &queue{flows: make(map[store.Flow]*flow), users: make(map[string]*user)}
	q.scheduled = indexedHeap[*flow]{
		less:  func(a, b *flow) bool { return a.readyAt.Before(b.readyAt) },
		index: func(f *flow) *int { return &f.heapIndex },
	}
	for c := range classes {
		q.readyUsers[c] = indexedHeap[*user]{
			less: func(a, b *user) bool {
				return cmp.Or(a.busyWorkers[c]-b.busyWorkers[c], a.lastServed[c]-b.lastServed[c]) < 0
			},
			index: func(u *user) *int { return &u.heapIndexes[c] },
		}
	}
	return q
}

// get returns the flow with a key, and adds it if it is new.
func (q *queue) get(key store.Flow, lane int, originNamed func(name string) *origin) *flow {
	known := q.flows[key]
	if known != nil {
		return known
	}
	owner := q.users[key.UserID]
	if owner == nil {
		owner = &user{id: key.UserID, readyFlows: [classes]*list.List{list.New(), list.New(), list.New()}, heapIndexes: [classes]int{-1, -1, -1}}
		q.users[key.UserID] = owner
	}
	owner.flowCount++
	known = &flow{Flow: key, user: owner, origin: originNamed(key.Origin), lane: lane, running: make(map[string]attempt), heapIndex: -1}
	known.origin.flows[known] = struct{}{}
	q.flows[key] = known
	return known
}

// removeIfIdle removes a flow that has no running attempt, no delivery in memory and no read to come.
func (q *queue) removeIfIdle(f *flow) {
	if len(f.running) > 0 || f.fetching || len(f.loaded) > 0 || !f.fetchAt.IsZero() {
		return
	}
	q.removeReady(f)
	q.unschedule(f)
	delete(q.flows, f.Flow)
	delete(f.origin.flows, f)
	if f.user.flowCount--; f.user.flowCount == 0 {
		delete(q.users, f.user.id)
	}
}

// makeReady appends a flow to the ready flows of its user. A flow that is ready keeps its place.
func (q *queue) makeReady(f *flow) {
	q.unschedule(f)
	if f.readyElement != nil {
		return
	}
	f.class = f.origin.class()
	f.readyElement = f.user.readyFlows[f.class].PushBack(f)
	q.fixHeap(f.user, f.class)
}

// makeReadyAt schedules a flow to become ready at a time, or earlier if it is scheduled for earlier. A flow
// that is ready stays ready.
func (q *queue) makeReadyAt(f *flow, at time.Time) {
	switch {
	case f.readyElement != nil:
	case f.heapIndex < 0:
		f.readyAt = at
		heap.Push(&q.scheduled, f)
	case at.Before(f.readyAt):
		f.readyAt = at
		heap.Fix(&q.scheduled, f.heapIndex)
	}
}

// unschedule removes a flow from the scheduled flows.
func (q *queue) unschedule(f *flow) {
	if f.heapIndex >= 0 {
		heap.Remove(&q.scheduled, f.heapIndex)
	}
}

// removeReady removes a flow from the ready flows.
func (q *queue) removeReady(f *flow) {
	if f.readyElement != nil {
		f.user.readyFlows[f.class].Remove(f.readyElement)
		f.readyElement = nil
		q.fixHeap(f.user, f.class)
	}
}

// reclassify moves the flows of an origin whose class has changed.
func (q *queue) reclassify(o *origin) {
	for f := range o.flows {
		if f.readyElement != nil && f.class != o.class() {
			q.removeReady(f)
			q.makeReady(f)
		}
	}
}

// makeDueReady makes the scheduled flows ready that are due at now.
func (q *queue) makeDueReady(now time.Time) {
	for q.scheduled.Len() > 0 && !q.nextReadyAt().After(now) {
		q.makeReady(q.scheduled.items[0])
	}
}

// nextReadyAt returns when the next scheduled flow becomes ready, or the zero time if none is scheduled.
func (q *queue) nextReadyAt() time.Time {
	if q.scheduled.Len() == 0 {
		return time.Time{}
	}
	return q.scheduled.items[0].readyAt
}

// next returns the flow of a class that gets the next free worker, or nil if no flow is ready.
func (q *queue) next(c class) *flow {
	if q.readyUsers[c].Len() == 0 {
		return nil
	}
	return q.readyUsers[c].items[0].readyFlows[c].Front().Value.(*flow)
}

// addBusy changes the number of busy workers of a user. A user that gets one moves behind the users that have as many.
func (q *queue) addBusy(u *user, c class, by int) {
	u.busyWorkers[c] += by
	if by > 0 {
		q.served++
		u.lastServed[c] = q.served
	}
	q.fixHeap(u, c)
}

// fixHeap adds, moves or removes a user in the heap of a class. A user with a ready flow is in the heap. The first user
// has the lowest load, and of those has waited the longest.
func (q *queue) fixHeap(u *user, c class) {
	h := &q.readyUsers[c]
	ready := u.readyFlows[c].Len() > 0
	switch inHeap := u.heapIndexes[c] >= 0; {
	case ready && inHeap:
		heap.Fix(h, u.heapIndexes[c])
	case ready:
		heap.Push(h, u)
	case inHeap:
		heap.Remove(h, u.heapIndexes[c])
	}
}
