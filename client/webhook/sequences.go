package webhook

import "sync"

// sequences knows, of each of the recent subjects, the event that was handled last.
type sequences struct {
	mu   sync.Mutex
	last *recent[position]
}

type position struct {
	sequence int64
	id       digest
}

// stale reports whether p is another event than the last and not above it.
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
