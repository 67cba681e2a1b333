package deliver

// indexedHeap is a [heap.Interface] whose items know their index, so that they can be moved and removed.
type indexedHeap[T any] struct {
	items []T
	less  func(a, b T) bool
	index func(item T) *int // -1 outside of the heap
}

func (h *indexedHeap[T]) Len() int { return len(h.items) }

func (h *indexedHeap[T]) Less(i, j int) bool { return h.less(h.items[i], h.items[j]) }

func (h *indexedHeap[T]) Swap(i, j int) {
	h.items[i], h.items[j] = h.items[j], h.items[i]
	*h.index(h.items[i]), *h.index(h.items[j]) = i, j
}

func (h *indexedHeap[T]) Push(x any) {
	item := x.(T)
	*h.index(item) = len(h.items)
	h.items = append(h.items, item)
}

func (h *indexedHeap[T]) Pop() any {
	last := len(h.items) - 1
	item := h.items[last]
	clear(h.items[last:])
	h.items = h.items[:last]
	*h.index(item) = -1
	return item
}
