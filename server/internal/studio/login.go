package studio

import (
	"context"
	"hash/maphash"
	"sync"
)

// logins lets one login at a time through for an account. Accounts share a few turnstiles.
type logins struct {
	seed       maphash.Seed
	turnstiles [64]chan struct{}
}

func newLogins() *logins {
	l := &logins{seed: maphash.MakeSeed()}
	for i := range l.turnstiles {
		l.turnstiles[i] = make(chan struct{}, 1)
	}
	return l
}

func (l *logins) enter(ctx context.Context, account string) (release func(), err error) {
	turnstile := l.turnstiles[maphash.String(l.seed, account)%uint64(len(l.turnstiles))]
	select {
	case turnstile <- struct{}{}:
		return func() { <-turnstile }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// decoy is the hash that the password for an unknown email is compared with.
type decoy struct {
	mu   sync.Mutex
	hash string
}

func (d *decoy) get(ctx context.Context, s *Service) (hash string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hash == "" {
		d.hash, err = s.Passwords.Hash(ctx, s.NewSecret())
	}
	return d.hash, err
}
