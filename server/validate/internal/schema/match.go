package schema

// condition is an if with then and else.
type condition struct {
	when, then, otherwise *Node
}

// checkKey identifies the check of a value against a shared node.
type checkKey uint64

// matches reports whether v matches n, without reporting violations. It caches the result for a nested
// container and a shared node. Otherwise, recursive alternatives would double the work at each level of
// nesting.
func (w *Walker) matches(v int, n *Node) bool {
	if n == nil {
		return true
	}
	key, shared := checkKey(v)<<32|checkKey(n.id), n.id != 0 && w.tape.isNested(v)
	if shared {
		if ok, known := w.known[key]; known {
			return ok
		}
	}
	base, seen, done := len(w.active), len(w.seen), w.done
	w.quiet++
	w.done = false
	w.activate(base, n)
	w.value(v, base)
	ok := !w.done
	w.active, w.seen, w.done = w.active[:base], w.seen[:seen], done
	w.quiet--
	if shared {
		if w.known == nil {
			w.known = make(map[checkKey]bool)
		}
		w.known[key] = ok
	}
	return ok
}

// applyConditions decides the keywords of n that depend on whether v matches other schemas, and activates the
// schemas that apply as a result. If all is set, it also activates those that v has been found to match.
func (w *Walker) applyConditions(v int, kind Kinds, n *Node, base int, all bool) {
	for _, u := range n.unions {
		if u.mustTry {
			w.tryAll(u, v, kind, base, all)
		}
	}
	if n.not != nil && w.matches(v, n.not) {
		w.Add("not", "must not match what the document excludes")
	}
	if c := n.condition; c != nil {
		if w.matches(v, c.when) {
			if all {
				w.activate(base, c.when)
			}
			w.activate(base, c.then)
		} else {
			w.activate(base, c.otherwise)
		}
	}
	for _, d := range n.dependents {
		if d.node != nil && w.tape.find(v, d.name) >= 0 {
			w.activate(base, d.node)
		}
	}
}
