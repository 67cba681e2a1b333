package webhook

import "container/list"

// recent is a map that keeps the keys that were put last.
type recent[V any] struct {
	size    int
	entries map[digest]*list.Element
	order   list.List // *entry[V] values, oldest first
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
	if element, ok := r.entries[key]; ok {
		element.Value.(*entry[V]).value = value
		r.order.MoveToBack(element)
		return
	}
	if r.order.Len() < r.size {
		r.entries[key] = r.order.PushBack(&entry[V]{key, value})
		return
	}
	oldest := r.order.Front()
	kept := oldest.Value.(*entry[V])
	delete(r.entries, kept.key)
	*kept = entry[V]{key, value}
	r.order.MoveToBack(oldest)
	r.entries[key] = oldest
}

func (r *recent[V]) remove(key digest) {
	if element, ok := r.entries[key]; ok {
		r.order.Remove(element)
		delete(r.entries, key)
	}
}
