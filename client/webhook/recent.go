package webhook

import "crypto/sha256"

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
