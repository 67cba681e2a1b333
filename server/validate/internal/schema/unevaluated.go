package schema

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// unevaluated is an unevaluatedItems or unevaluatedProperties.
type unevaluated struct {
	closed bool // whether the schema is false
	node   *Node
}

// unevaluated returns the rule for unevaluated members or elements of a value.
func (n *Node) unevaluated(kind Kinds) *unevaluated {
	switch kind {
	case KindObject:
		return n.unevaluatedProperties
	case KindArray:
		return n.unevaluatedItems
	}
	return nil
}

// indexSet is a set of indexes of members or elements.
type indexSet []uint64

func (s *indexSet) set(i int) {
	for len(*s) <= i/64 {
		*s = append(*s, 0)
	}
	(*s)[i/64] |= 1 << (i % 64)
}

func (s *indexSet) has(i int) bool { return i/64 < len(*s) && (*s)[i/64]&(1<<(i%64)) != 0 }

// evaluated returns the members or elements of v that n and the schemas that it applies to v evaluate.
func (w *Walker) evaluated(v int, n *Node) *indexSet {
	kind, base, done := w.tape.kind(v), len(w.active), w.done
	w.quiet++ // violations are reported by the walk
	w.activate(base, n)
	w.expand(v, kind, base, base)
	for i := base; i < len(w.active); i++ {
		before := len(w.active)
		w.applyConditions(v, kind, w.active[i].node, base, true)
		w.expand(v, kind, base, before)
	}
	var found indexSet
	count := 0
	for at := v + 1; at < w.tape.next(v); at = w.tape.next(at) {
		var name []byte
		if kind == KindObject {
			name = w.tape.string(at)
			at++
		}
		for i := base; i < len(w.active); i++ {
			if other := w.active[i].node; other.evaluates(kind, count, name) || other != n && other.unevaluated(kind) != nil ||
				kind == KindArray && other.contains != nil && w.matches(at, other.contains.node) {
				found.set(count)
				break
			}
		}
		count++
	}
	w.active, w.done = w.active[:base], done
	w.quiet--
	return &found
}

// evaluates reports whether n has a schema for the element or member at an index.
func (n *Node) evaluates(kind Kinds, index int, name []byte) bool {
	if kind == KindArray {
		return n.hasItems || index < len(n.prefix)
	}
	m := n.members[string(name)]
	return m != nil && m.declared || n.hasAdditional && !n.closed ||
		slices.ContainsFunc(n.patterns, func(p patternMembers) bool { return p.pattern.Match(name) })
}

// unevaluated compiles unevaluatedItems or unevaluatedProperties.
func (c *Compiler) unevaluated(s *scope, source *document.Node) *unevaluated {
	if source == nil {
		return nil
	}
	return &unevaluated{closed: source.Kind == jsontext.KindFalse, node: c.schemaIn(s, source)}
}
