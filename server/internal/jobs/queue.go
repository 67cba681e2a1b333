package jobs

import (
	"container/heap"
	"container/list"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

// queue is what waits in memory: for each user and origin a line with the first few deliveries that
// are due, and when to look into the store for more. It gives the next free worker to the user who
// has the fewest at work, and of that user's lines to the one that has waited the longest.
//
// Each class of origins has turns of its own, because those that have not answered lately may use only
// a part of the workers. It is not safe for concurrent use.
type queue struct {
	lines map[store.Line]*line
	users map[string]*user
	turns [classes]userHeap // by class
	later lineHeap
	turn  int
	// doubtful is how many users have lines to origins that have not answered lately.
	doubtful int
}

// class is what is known of an origin.
type class int

const (
	proven  class = iota // the last attempt was answered
	fresh                // there was none
	failing              // the last one failed
	classes
)

// user is the lines of one user.
type user struct {
	id       string
	lines    int
	doubtful int                 // lines to origins that have not answered lately
	ready    [classes]*list.List // of lines that may have something to start, by class
	atWork   [classes]int
	turn     [classes]int // when it last got a worker
	position [classes]int // in the turns; -1 when it is not there
}

// line is the deliveries of one user to one origin.
type line struct {
	store.Line
	user   *user
	origin *origin
	lane   int

	loaded    []store.Delivery
	read      time.Time         // when they were
	readAfter time.Time         // they are out of date unless they were read after this
	running   map[string]string // the event of each subject at work; "" when a later one was read
	ended     map[string]string // of subjects whose work ended while the line was fetched
	more      time.Time         // when the store has more; zero when it has not
	fetching  bool
	scanned   bool // a scan says that events are due
	blocked   bool // it waits for its origin

	class    class
	doubtful bool          // it counts as such for its user
	element  *list.Element // among the ready ones; nil when it is not
	at       time.Time     // when to make it ready
	position int           // in later; -1 when it is not there
}

func newQueue() *queue {
	return &queue{lines: make(map[store.Line]*line), users: make(map[string]*user)}
}

// get returns a line, which is new when nothing waits in it.
func (q *queue) get(key store.Line, lane int, of func(name string) *origin) *line {
	known := q.lines[key]
	if known != nil {
		return known
	}
	owner := q.users[key.UserID]
	if owner == nil {
		owner = &user{id: key.UserID, ready: [classes]*list.List{list.New(), list.New(), list.New()}, position: [classes]int{-1, -1, -1}}
		q.users[key.UserID] = owner
	}
	owner.lines++
	known = &line{Line: key, user: owner, origin: of(key.Origin), lane: lane, running: make(map[string]string), position: -1}
	known.origin.lines[known] = struct{}{}
	q.lines[key] = known
	q.doubt(known, known.origin.class() != proven)
	return known
}

// leave forgets a line in which nothing happens any more.
func (q *queue) leave(l *line) {
	if len(l.running) > 0 || l.fetching || len(l.loaded) > 0 || !l.more.IsZero() {
		return
	}
	q.unready(l)
	q.unlater(l)
	q.doubt(l, false)
	delete(q.lines, l.Line)
	delete(l.origin.lines, l)
	if l.user.lines--; l.user.lines == 0 {
		delete(q.users, l.user.id)
	}
}

// makeReady puts a line behind the others of its user.
func (q *queue) makeReady(l *line) {
	q.unlater(l)
	if l.element != nil {
		return
	}
	l.class = l.origin.class()
	l.element = l.user.ready[l.class].PushBack(l)
	q.place(l.user, l.class)
}

// makeLater makes a line ready at a time. A line that is ready stays so.
func (q *queue) makeLater(l *line, at time.Time) {
	switch {
	case l.element != nil:
	case l.position < 0:
		l.at = at
		heap.Push(&q.later, l)
	case at.Before(l.at):
		l.at = at
		heap.Fix(&q.later, l.position)
	}
}

func (q *queue) unlater(l *line) {
	if l.position >= 0 {
		heap.Remove(&q.later, l.position)
	}
}

// unready takes a line out of its turn.
func (q *queue) unready(l *line) {
	if l.element != nil {
		l.user.ready[l.class].Remove(l.element)
		l.element = nil
		q.place(l.user, l.class)
	}
}

// reclassify follows a change of an origin's class.
func (q *queue) reclassify(o *origin) {
	for l := range o.lines {
		q.doubt(l, o.class() != proven)
		if l.element != nil && l.class != o.class() {
			q.unready(l)
			q.makeReady(l)
		}
	}
}

// doubt counts a line, or not, among those to origins that have not answered lately.
func (q *queue) doubt(l *line, doubtful bool) {
	if l.doubtful == doubtful {
		return
	}
	l.doubtful = doubtful
	if doubtful {
		if l.user.doubtful++; l.user.doubtful == 1 {
			q.doubtful++
		}
		return
	}
	if l.user.doubtful--; l.user.doubtful == 0 {
		q.doubtful--
	}
}

// advance makes the lines ready whose time has come.
func (q *queue) advance(now time.Time) {
	for len(q.later) > 0 && !q.later[0].at.After(now) {
		q.makeReady(q.later[0])
	}
}

// firstLater returns when the next line is made ready; the zero time when none is.
func (q *queue) firstLater() time.Time {
	if len(q.later) == 0 {
		return time.Time{}
	}
	return q.later[0].at
}

// first returns the line whose turn it is, and how many its user has at work; nil when none is ready.
func (q *queue) first(c class) (l *line, atWork int) {
	if len(q.turns[c].users) == 0 {
		return nil, 0
	}
	u := q.turns[c].users[0]
	return u.ready[c].Front().Value.(*line), u.inTurn(c)
}

// inTurn is how many a user has at work that count for its turn. Those for origins that have not
// answered lately count together, or a user would have a share of each class.
func (u *user) inTurn(c class) int {
	if c == proven {
		return u.atWork[proven]
	}
	return u.atWork[fresh] + u.atWork[failing]
}

// passed says that a user has had its turn.
func (q *queue) passed(u *user, c class) {
	q.turn++
	u.turn[c] = q.turn
	q.place(u, c)
}

// worked counts those at work for a user.
func (q *queue) worked(u *user, c class, by int) {
	u.atWork[c] += by
	for c := range classes {
		q.place(u, c)
	}
}

// place keeps a user in the turns while it has a line that is ready.
func (q *queue) place(u *user, c class) {
	h := &q.turns[c]
	h.class = c
	ready := u.ready[c].Len() > 0
	switch in := u.position[c] >= 0; {
	case ready && in:
		heap.Fix(h, u.position[c])
	case ready:
		heap.Push(h, u)
	case in:
		heap.Remove(h, u.position[c])
	}
}

// userHeap is a [heap.Interface] with the user first who has the fewest at work, and of those the one
// who has waited the longest.
type userHeap struct {
	class class
	users []*user
}

func (h *userHeap) Len() int { return len(h.users) }

func (h *userHeap) Less(i, j int) bool {
	a, b := h.users[i], h.users[j]
	if has, hasOther := a.inTurn(h.class), b.inTurn(h.class); has != hasOther {
		return has < hasOther
	}
	return a.turn[h.class] < b.turn[h.class]
}

func (h *userHeap) Swap(i, j int) {
	h.users[i], h.users[j] = h.users[j], h.users[i]
	h.users[i].position[h.class], h.users[j].position[h.class] = i, j
}

func (h *userHeap) Push(x any) {
	u := x.(*user)
	u.position[h.class] = len(h.users)
	h.users = append(h.users, u)
}

func (h *userHeap) Pop() any {
	last := len(h.users) - 1
	u := h.users[last]
	h.users[last] = nil
	h.users = h.users[:last]
	u.position[h.class] = -1
	return u
}

// lineHeap is a [heap.Interface] with the earliest line first.
type lineHeap []*line

func (h *lineHeap) Len() int           { return len(*h) }
func (h *lineHeap) Less(i, j int) bool { return (*h)[i].at.Before((*h)[j].at) }

func (h *lineHeap) Swap(i, j int) {
	all := *h
	all[i], all[j] = all[j], all[i]
	all[i].position, all[j].position = i, j
}

func (h *lineHeap) Push(x any) {
	added := x.(*line)
	added.position = len(*h)
	*h = append(*h, added)
}

func (h *lineHeap) Pop() any {
	last := len(*h) - 1
	taken := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	taken.position = -1
	return taken
}
