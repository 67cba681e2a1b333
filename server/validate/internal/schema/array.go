package schema

// array checks an array against the active nodes from base on.
func (w *Walker) array(v, base int) {
	end, isOpen := len(w.active), w.tape.isOpen(v)
	for i := base; i < end; i++ {
		if n := w.active[i].node; n.unevaluatedItems != nil && !isOpen {
			w.active[i].evaluated = w.evaluated(v, n)
		}
	}
	count := 0
	for at := v + 1; at < w.tape.next(v) && !w.done; at = w.tape.next(at) {
		for i := base; i < end; i++ {
			n := w.active[i].node
			if count < len(n.prefix) {
				w.activate(end, n.prefix[count])
			} else {
				w.activate(end, n.items)
			}
			if u := n.unevaluatedItems; u != nil && !isOpen && !w.active[i].evaluated.has(count) {
				if u.closed {
					w.Add("unevaluatedItems", "must have no elements but those of the document")
				} else {
					w.activate(end, u.node)
				}
			}
		}
		w.inside(step{index: count}, at, end)
		count++
	}
	w.done = w.done || isOpen
	for i := base; i < end && !w.done; i++ {
		n := w.active[i].node
		w.checkRange(uint64(count), n.minItems, n.maxItems, "minItems", "maxItems", "elements")
		if n.contains != nil {
			w.checkContains(n.contains, v)
		}
		if n.unique && w.tape.repeats(v) {
			w.Add("uniqueItems", "must not have equal elements")
		}
		w.checkLiterals(n, v)
	}
}

// checkContains counts the elements that match contains.
func (w *Walker) checkContains(c *contains, v int) {
	least, keyword := c.least, "minContains"
	if !least.Set {
		least, keyword = Limit{1, true}, "contains"
	}
	count := uint64(0)
	for at := v + 1; at < w.tape.next(v); at = w.tape.next(at) {
		if w.matches(at, c.node) {
			count++
		}
	}
	w.checkRange(count, least, c.most, keyword, "maxContains", "matching elements")
}
