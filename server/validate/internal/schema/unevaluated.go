package schema

import "slices"

// unevaluated returns the rule for unevaluated members or elements of a value.
func (n *Node) unevaluated(kind Kinds) *Node {
	switch kind {
	case KindObject:
		return n.unevaluatedProperties
	case KindArray:
		return n.unevaluatedItems
	}
	return nil
}

// evaluated returns for each member or element of v, whose nodes are active from an index on, whether n and the schemas
// that it applies to v evaluate it.
func (w *Walker) evaluated(v int, n *Node, from int) *[]bool {
	kind, base, done, outer := w.tape.kind(v), len(w.active), w.done, w.trial
	w.trial = trial{base, w.first(from)}
	w.quiet++ // violations are reported by the walk
	w.activate(base, n)
	w.expand(v, kind, base, base)
	for i, tried := base, base; tried < len(w.active); {
		before := len(w.active)
		if i < before {
			w.applyConditions(v, w.active[i].node, base, true)
			i++
		} else {
			w.tryUnions(v, kind, w.active[tried].node, base, true)
			tried++
		}
		w.expand(v, kind, base, before)
	}
	var all []bool
	for at := v + 1; at < w.tape.next(v); at = w.tape.next(at) {
		var name []byte
		if kind == KindObject {
			name = w.tape.string(at)
			at++
		}
		found := false
		for i := base; i < len(w.active) && !found; i++ {
			other := w.active[i].node
			found = other.evaluates(kind, len(all), name) || other != n && other.unevaluated(kind) != nil ||
				kind == KindArray && other.contains != nil && w.matches(at, other.contains.node)
		}
		all = append(all, found)
	}
	w.active, w.done, w.trial = w.active[:base], done, outer
	w.quiet--
	return &all
}

// evaluates reports whether n has a schema for the element or member at an index.
func (n *Node) evaluates(kind Kinds, index int, name []byte) bool {
	if kind == KindArray {
		return n.items != nil || index < len(n.prefix)
	}
	m := n.members[string(name)]
	return m != nil && m.declared || n.additional.isOpen() ||
		slices.ContainsFunc(n.patterns, func(p patternMembers) bool { return p.pattern.Match(name) })
}
