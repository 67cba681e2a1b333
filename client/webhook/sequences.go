package webhook

import "sync"

// sequences records the last event that was handled for each of the latest subjects.
type sequences struct {
	mu   sync.Mutex
	last *recent[position]
}

type position struct {
	sequence int64
	id       digest
}

// stale reports whether p is not above the last event of the subject, unless it is that event.
func (s *sequences) stale(subject digest, p position) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ok := s.last.get(subject)
	return ok && p.sequence <= last.sequence && p.id != last.id
}

func (s *sequences) handled(subject digest, p position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, ok := s.last.get(subject); !ok || p.sequence > last.sequence {
		s.last.put(subject, p)
	}
}
