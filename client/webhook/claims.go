package webhook

import (
	"context"
	"crypto/sha256"
	"sync"
)

// Claims records which notifications were handled, by their webhook-id. Receivers that share Claims handle
// each notification once between them. Implementations must be safe for concurrent use. A [Receiver]
// claims only notifications that its verifier accepted.
type Claims interface {
	// Claim atomically claims id for the caller unless another caller holds it or it is committed. A claim
	// must expire after some time, because the process that holds it may have been killed.
	Claim(ctx context.Context, id string) (ClaimResult, error)

	// Commit marks id as handled. The mark must last as long as the service may deliver the notification
	// again, which is at least 4 days, as far as storage allows. The context does not end with the request.
	Commit(ctx context.Context, id string) error

	// Release ends the claim, so that id can be claimed again. The context does not end with the request.
	Release(ctx context.Context, id string) error
}

// ClaimResult is the result of [Claims.Claim].
type ClaimResult int

// Results of a claim. The zero value is invalid.
const (
	Claimed    ClaimResult = iota + 1 // the caller holds the claim and must commit or release it
	InProgress                        // another caller holds the claim
	Done                              // the notification was handled
)

const remembered = 10_000

// NewMemoryClaims returns Claims that keep at least the latest size ids in memory, and at most twice as many, at about
// 100 bytes each. If size is zero or less, it is 10,000. A claim does not expire, because it ends with its process.
func NewMemoryClaims(size int) Claims {
	if size <= 0 {
		size = remembered
	}
	return &memoryClaims{ids: newRecent[ClaimResult](size)}
}

// memoryClaims keeps what a claim of each id results in.
type memoryClaims struct {
	mu  sync.Mutex
	ids *recent[ClaimResult]
}

func (m *memoryClaims) Claim(_ context.Context, id string) (ClaimResult, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := sha256.Sum256([]byte(id))
	if result, ok := m.ids.get(key); ok {
		return result, nil
	}
	m.ids.put(key, InProgress)
	return Claimed, nil
}

func (m *memoryClaims) Commit(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ids.put(sha256.Sum256([]byte(id)), Done)
	return nil
}

func (m *memoryClaims) Release(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ids.remove(sha256.Sum256([]byte(id)))
	return nil
}
