package httpserver

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// patience is how long a response may make no progress while memory is scarce.
const patience = 250 * time.Millisecond

// unread has the responses that hold memory until their clients read them.
type unread struct {
	bytes atomic.Int64 // also of responses whose handlers are running

	mu      sync.Mutex
	waiting map[*response]struct{} // those that wait for their clients
	timer   *time.Timer            // runs while memory is scarce
}

func (l *Listener) addUnread(w *response) {
	l.unread.mu.Lock()
	l.unread.waiting[w] = struct{}{}
	l.unread.mu.Unlock()
	l.relieve()
}

func (l *Listener) removeUnread(w *response) {
	l.unread.mu.Lock()
	defer l.unread.mu.Unlock()
	delete(l.unread.waiting, w)
}

// relieve aborts responses while more than half of the limit is in use. Above the limit, it does not spare those that
// have just made progress.
func (l *Listener) relieve() {
	u := &l.unread
	excess := u.bytes.Load() - l.cfg.MaxResponseBytes/2
	if excess <= 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	networks := make(map[*network]int64)
	for w := range u.waiting {
		networks[w.conn.network] += w.held.Load()
	}
	share := l.cfg.MaxResponseBytes / 2 / int64(max(1, len(networks)))
	var candidates []candidate[*response]
	for w := range u.waiting {
		if n := w.conn.network; w.held.Load() > 0 { // not aborted yet
			candidates = append(candidates, candidate[*response]{w, w.active.Load(), !n.trusted && networks[n] > share})
		}
	}
	sortCandidates(candidates)
	recent := int64(time.Since(l.began) - patience)
	aborted := 0
	for _, c := range candidates {
		if excess <= 0 || c.active > recent && excess <= l.cfg.MaxResponseBytes/2 {
			break
		}
		excess -= c.of.held.Load()
		c.of.hold(0)
		l.abort(c.of)
		aborted++
	}
	if excess > 0 {
		u.timer.Reset(patience)
	}
	l.mu.Lock()
	l.closed += aborted
	l.unlock(nil)
}

// abort makes the pending write of a response fail. HTTP/2 resets the stream, unless the connection accepts no data:
// then the connection is closed. l.unread.mu must be held, so that the response is still waiting.
func (l *Listener) abort(w *response) {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Unix(1, 0)) // both protocols support it
	time.AfterFunc(patience, func() {
		l.unread.mu.Lock()
		defer l.unread.mu.Unlock()
		if _, waiting := l.unread.waiting[w]; waiting {
			_ = w.conn.Conn.Close()
		}
	})
}
