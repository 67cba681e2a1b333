package webhook

import (
	"crypto/sha256"
	"sync"
)

// digest stands for a text of any length.
type digest = [sha256.Size]byte

// recent is a map that keeps at least the size keys that were put last, and at most twice as many.
type recent[V any] struct {
	size       int
	young, old map[digest]V
}

func newRecent[V any](size int) *recent[V] { return &recent[V]{size: size, young: map[digest]V{}} }

func (r *recent[V]) get(key digest) (value V, ok bool) {
	if value, ok = r.young[key]; !ok {
		value, ok = r.old[key]
	}
	return value, ok
}

func (r *recent[V]) put(key digest, value V) {
	if _, ok := r.young[key]; !ok && len(r.young) == r.size {
		r.young, r.old = make(map[digest]V, r.size), r.young
	}
	r.young[key] = value
}

func (r *recent[V]) remove(key digest) {
	delete(r.young, key)
	delete(r.old, key)
}

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
