package metrics

import "sync"

// cache has metrics by their labels, because to find them by their names takes longer than to count. The zero value is
// empty. A cache is safe for concurrent use.
type cache[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]V
}

// get returns the metrics with labels, which create finds or creates the first time.
func (c *cache[K, V]) get(labels K, create func(K) V) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.known[labels]
	if !ok {
		if c.known == nil {
			c.known = make(map[K]V)
		}
		found = create(labels)
		c.known[labels] = found
	}
	return found
}
