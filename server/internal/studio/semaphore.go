package studio

import (
	"context"
	"sync"
)

// KeyedSemaphore bounds what is done at the same time for each key, such as the ID of a user. It remembers the keys in
// use only. It is safe for concurrent use.
type KeyedSemaphore struct {
	// Limit is the number of callers with the same key that can have it at the same time.
	Limit int
	// Queue limits the callers with the same key that have it or wait for it. If zero, it is not limited.
	Queue int

	mu   sync.Mutex
	keys map[string]*semaphore
}

type semaphore struct {
	taken chan struct{}
	users int // callers that have it or wait for it
}

// Acquire waits for the semaphore of a key. The caller must call release. The error is [ErrBusy] if Queue callers have
// or wait for it, or the cause of ctx.
func (k *KeyedSemaphore) Acquire(ctx context.Context, key string) (release func(), err error) {
	one := k.enter(key)
	if one == nil {
		return nil, ErrBusy
	}
	select {
	case one.taken <- struct{}{}:
		return func() { <-one.taken; k.leave(key, one) }, nil
	case <-ctx.Done():
		k.leave(key, one)
		return nil, context.Cause(ctx)
	}
}

func (k *KeyedSemaphore) enter(key string) *semaphore {
	k.mu.Lock()
	defer k.mu.Unlock()
	one := k.keys[key]
	if one == nil {
		if k.keys == nil {
			k.keys = make(map[string]*semaphore)
		}
		one = &semaphore{taken: make(chan struct{}, k.Limit)}
		k.keys[key] = one
	}
	if k.Queue > 0 && one.users >= k.Queue {
		return nil
	}
	one.users++
	return one
}

func (k *KeyedSemaphore) leave(key string, one *semaphore) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(k.keys, key)
	}
}
