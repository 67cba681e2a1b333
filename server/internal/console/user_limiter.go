package console

import "sync"

// tally counts what users do at once, and lets each do only so much. It is safe for concurrent use.
type tally struct {
	most int

	mu    sync.Mutex
	users map[string]int
}

func newTally(most int) *tally { return &tally{most: most, users: make(map[string]int)} }

// begin reports whether a user may do one thing more; then end must follow.
func (t *tally) begin(userID string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users[userID] >= t.most {
		return false
	}
	t.users[userID]++
	return true
}

func (t *tally) end(userID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users[userID]--; t.users[userID] == 0 {
		delete(t.users, userID)
	}
}
