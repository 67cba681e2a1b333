package jobs

import (
	"container/heap"
	"time"
)

// lines knows every origin that has events waiting, and when to look at it. What waits in a line
// is in the store, however much it is. It is not safe for concurrent use.
type lines struct {
	all  map[string]*line
	next lineHeap
}

// line is the events that wait for one origin.
type line struct {
	origin  string
	at      time.Time           // when to look; lines that were looked at come after those that were not
	place   int                 // in the heap; -1 when it is not there
	running map[string]struct{} // subjects whose events are being delivered
}

func newLines() *lines { return &lines{all: make(map[string]*line)} }

// look makes sure that a line is looked at by a time.
func (l *lines) look(origin string, at time.Time) {
	known := l.all[origin]
	if known == nil {
		known = &line{origin: origin, place: -1, running: make(map[string]struct{})}
		l.all[origin] = known
	}
	switch {
	case known.place < 0:
		known.at = at
		heap.Push(&l.next, known)
	case at.Before(known.at):
		known.at = at
		heap.Fix(&l.next, known.place)
	}
}

// first returns when to look at a line again; false when there is none to look at.
func (l *lines) first() (at time.Time, ok bool) {
	if len(l.next) == 0 {
		return time.Time{}, false
	}
	return l.next[0].at, true
}

// take returns the line to look at first. It is looked at no more, until look is called.
func (l *lines) take() *line { return heap.Pop(&l.next).(*line) }

// leave forgets a line in which nothing happens any more.
func (l *lines) leave(line *line) {
	if line.place < 0 && len(line.running) == 0 {
		delete(l.all, line.origin)
	}
}

// lineHeap is a [heap.Interface] with the earliest line first.
type lineHeap []*line

func (h *lineHeap) Len() int           { return len(*h) }
func (h *lineHeap) Less(i, j int) bool { return (*h)[i].at.Before((*h)[j].at) }

func (h *lineHeap) Swap(i, j int) {
	all := *h
	all[i], all[j] = all[j], all[i]
	all[i].place, all[j].place = i, j
}

func (h *lineHeap) Push(x any) {
	added := x.(*line)
	added.place = len(*h)
	*h = append(*h, added)
}

func (h *lineHeap) Pop() any {
	last := len(*h) - 1
	taken := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	taken.place = -1
	return taken
}
