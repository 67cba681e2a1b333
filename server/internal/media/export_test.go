package media

import "time"

// SetStallTimeout sets how long the store waits for an object store.
func (s *Store) SetStallTimeout(d time.Duration) { s.stallTimeout = d }
