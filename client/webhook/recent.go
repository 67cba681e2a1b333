package webhook

import "container/list"

// recent maps keys to values and forgets the keys that were put longest ago.
type recent[V any] struct {
	size    int
	entries map[digest]*list.Element
	order   list.List // of *entry[V], the oldest first
}

type entry[V any] struct {
	key   digest
	value V
}

func newRecent[V any](size int) *recent[V] {
	return &recent[V]{size: size, entries: map[digest]*list.Element{}}
}

func (r *recent[V]) get(key digest) (value V, ok bool) {
	if element, ok := r.entries[key]; ok {
		return element.Value.(*entry[V]).value, true
	}
	return value, false
}

func (r *recent[V]) put(key digest, value V) {
	element, ok := r.entries[key]
	switch {
	case ok:
		r.order.MoveToBack(element)
	case r.order.Len() < r.size:
		element = r.order.PushBack(&entry[V]{})
	default:
		element = r.order.Front()
		delete(r.entries, element.Value.(*entry[V]).key)
		r.order.MoveToBack(element)
	}
	*element.Value.(*entry[V]) = entry[V]{key, value}
	r.entries[key] = element
}

func (r *recent[V]) remove(key digest) {
	if element, ok := r.entries[key]; ok {
		r.order.Remove(element)
		delete(r.entries, key)
	}
}
