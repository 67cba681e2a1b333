package console

import "sync"

// userLimiter limits the concurrent requests of each user. It is safe for concurrent use.
type userLimiter struct {
	limit int

	mu    sync.Mutex
	inUse map[string]int // by user
}

func newUserLimiter(limit int) *userLimiter {
	return &userLimiter{limit: limit, inUse: make(map[string]int)}
}

// acquire reports whether the user is below the limit. If it returns true, the caller must call release.
func (l *userLimiter) acquire(userID string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inUse[userID] >= l.limit {
		return false
	}
	l.inUse[userID]++
	return true
}

func (l *userLimiter) release(userID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inUse[userID]--; l.inUse[userID] == 0 {
		delete(l.inUse, userID)
	}
}
