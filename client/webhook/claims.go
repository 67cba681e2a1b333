package webhook

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"
)

// Claims remembers which notifications were handled, by their webhook-id. Receivers that
// share one handle a notification once between them. The implementation must be safe for
// concurrent use. A [Receiver] asks it only about what its verifier accepted.
type Claims interface {
	// Claim takes id for its caller unless it is taken or done, in one atomic step. A claim
	// must lapse by itself after a time, because its holder may have died.
	Claim(ctx context.Context, id string) (ClaimResult, error)

	// Commit makes id done for as long as the service may deliver it again: at least 4 days,
	// where there is room. The context outlives the request.
	Commit(ctx context.Context, id string) error

	// Release gives id back, to be claimed again. The context outlives the request.
	Release(ctx context.Context, id string) error
}

// ClaimResult is the answer of [Claims.Claim].
type ClaimResult int

// What a claim can result in. The zero value is none of them.
const (
	Claimed ClaimResult = iota + 1 // the caller has it now, and commits or releases it
	InWork                         // somebody has it
	Done                           // it was committed
)

const (
	remembered = 10_000
	lease      = 5 * time.Minute
)

// NewMemoryClaims returns Claims that remember the last size ids in memory, about 200 bytes
// each; zero or less stands for 10,000. A claim lapses after 5 minutes: if the callback then
// still runs, the notification may be handled a second time.
func NewMemoryClaims(size int) Claims {
	if size <= 0 {
		size = remembered
	}
	return &memoryClaims{ids: newRecent[claim](size)}
}

type memoryClaims struct {
	mu  sync.Mutex
	ids *recent[claim]
}

type claim struct {
	done  bool
	until time.Time
}

func (m *memoryClaims) Claim(_ context.Context, id string) (ClaimResult, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key, now := sha256.Sum256([]byte(id)), time.Now()
	taken, ok := m.ids.get(key)
	switch {
	case taken.done:
		return Done, nil
	case ok && now.Before(taken.until):
		return InWork, nil
	}
	m.ids.put(key, claim{until: now.Add(lease)})
	return Claimed, nil
}

func (m *memoryClaims) Commit(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ids.put(sha256.Sum256([]byte(id)), claim{done: true})
	return nil
}

func (m *memoryClaims) Release(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := sha256.Sum256([]byte(id))
	if taken, _ := m.ids.get(key); !taken.done { // by another, after this claim had lapsed
		m.ids.remove(key)
	}
	return nil
}
