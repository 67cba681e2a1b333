package metrics

import "sync"

// cache has metrics by their labels, because to find them by their names takes longer than to count. The zero value is
// empty. A cache is safe for concurrent use.
type cache[K comparable, V any] struct {
	mu    sync.RWMutex
	known map[K]V
}

// get returns the metrics with labels, which create finds or creates the first time.
func (c *cache[K, V]) get(labels K, create func(K) V) V {
	c.mu.RLock()
	found, ok := c.known[labels]
	c.mu.RUnlock()
	if ok {
		return found
	}
	created := create(labels)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = make(map[K]V)
	}
	c.known[labels] = created
	return created
}
