package schema

// condition is an if with then and else.
type condition struct {
	when, then, otherwise *Node
}

// checkKey identifies the check of a value against a shared node.
type checkKey uint64

// trial is a check of a value without reporting violations. Its nodes are active from base on, and those from from on
// describe the same value.
type trial struct{ base, from int }

// first returns the first active node of the value whose nodes are active from base on.
func (w *Walker) first(base int) int {
	if base == w.trial.base {
		return w.trial.from
	}
	return base
}

// matches reports whether v matches n alone.
func (w *Walker) matches(v int, n *Node) bool { return w.matchesBeside(v, n, len(w.active)) }

// matchesBeside reports whether v, which the active nodes from an index on describe, matches n, without reporting
// violations. It caches the result for a nested container and a shared node. Otherwise, recursive alternatives would
// double the work at each level of nesting.
func (w *Walker) matchesBeside(v int, n *Node, from int) bool {
	if n == nil {
		return true
	}
	key, shared := checkKey(v)<<32|checkKey(n.id), n.shared && w.tape.isNested(v)
	var known map[checkKey]bool
	if shared {
		known = w.knownBeside(from)
		if ok, is := known[key]; is {
			return ok
		}
	}
	base, seen, done, outer := len(w.active), len(w.seen), w.done, w.trial
	w.quiet++
	w.done, w.trial = false, trial{base, from}
	w.activate(base, n)
	w.value(v, base)
	ok := !w.done
	w.active, w.seen, w.done, w.trial = w.active[:base], w.seen[:seen], done, outer
	w.quiet--
	if shared {
		known[key] = ok
	}
	return ok
}

// knownBeside returns the known results beside the active nodes from an index on. Only those that exempt members from
// being required make a difference.
func (w *Walker) knownBeside(from int) map[checkKey]bool {
	sum := uint64(0)
	for _, e := range w.active[from:] {
		if e.node.exempts&w.Direction != 0 {
			sum = sum*0x100000001b3 + uint64(e.node.id)
		}
	}
	if w.known == nil {
		w.known = make(map[uint64]map[checkKey]bool)
	}
	if w.known[sum] == nil {
		w.known[sum] = make(map[checkKey]bool)
	}
	return w.known[sum]
}

// applyConditions decides the keywords of n, but for its unions, that depend on whether v matches other schemas, and
// activates the schemas that apply as a result. If all is set, it also activates those that v has been found to match.
func (w *Walker) applyConditions(v int, n *Node, base int, all bool) {
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

// tryUnions does for the unions of n what applyConditions does.
func (w *Walker) tryUnions(v int, kind Kinds, n *Node, base int, all bool) {
	for _, u := range n.unions {
		if u.mustTry(kind) {
			w.tryAll(u, v, base, all)
		}
	}
}
