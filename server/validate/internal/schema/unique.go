package schema

import (
	"bytes"
	"hash/maphash"
	"math"
)

// hash returns the same number for equal values.
func (t *tape) hash(v int) uint64 {
	if t.hashes == nil {
		t.hashes = make([]uint64, len(t.values))
	}
	if t.hashes[v] != 0 {
		return t.hashes[v]
	}
	var h maphash.Hash
	h.SetSeed(t.seed)
	switch t.kind(v) {
	case KindArray:
		for at := v + 1; at < t.next(v); at = t.next(at) {
			maphash.WriteComparable(&h, t.hash(at))
		}
	case KindObject:
		total := uint64(1) // independent of the order of the members
		for at := v + 1; at < t.next(v); at = t.nextName(at) {
			total += maphash.Comparable(t.seed, [2]uint64{maphash.Bytes(t.seed, t.string(at)), t.hash(at + 1)})
		}
		maphash.WriteComparable(&h, total)
	default:
		var scratch [64]byte
		h.Write(appendScalar(scratch[:0], t.kind(v), t.content(v)))
	}
	t.hashes[v] = max(1, h.Sum64())
	return t.hashes[v]
}

// repeats reports whether two elements of an array are equal.
func (t *tape) repeats(v int) bool {
	first := make(map[uint64]int)
	for at := v + 1; at < t.next(v); at = t.next(at) {
		hash := t.hash(at)
		if other, ok := first[hash]; ok && t.equal(other, at) {
			return true
		}
		first[hash] = at
	}
	return false
}

func (t *tape) equal(v, other int) bool {
	a, _ := t.appendCanonical(nil, v, math.MaxInt)
	b, _ := t.appendCanonical(nil, other, math.MaxInt)
	return bytes.Equal(a, b)
}
