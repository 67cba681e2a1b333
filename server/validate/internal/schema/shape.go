package schema

import (
	"maps"
	"slices"
)

// Shape describes which JSON values the texts at one location may represent. Texts in parameters, forms and
// parts have no types, so the types of the schema determine their JSON.
type Shape struct {
	Nodes []*Node // the schemas that the value must match
	parts []*Node // these, and all schemas that they may apply to the same value
	Types Kinds   // the types that the schemas allow

	prefixed int // the number of elements that have their own schemas
}

// ShapeOf returns the shape of a value that must match all nodes. Some may be nil. It takes ownership of nodes.
func ShapeOf(nodes ...*Node) *Shape {
	s := &Shape{Types: KindAny}
	s.Nodes = slices.DeleteFunc(nodes, func(n *Node) bool { return n == nil })
	for _, n := range s.Nodes {
		s.Types &= n.collect(&s.parts)
	}
	for _, n := range s.parts {
		s.prefixed = max(s.prefixed, len(n.prefix))
	}
	return s
}

// IsBinary reports whether the text may be any bytes.
func (s *Shape) IsBinary() bool {
	return slices.ContainsFunc(s.Nodes, func(n *Node) bool { return n.format.isBinary() })
}

// Names returns the names of the declared members, sorted.
func (s *Shape) Names() []string {
	names := make(map[string]bool)
	for _, n := range s.parts {
		for name := range n.members {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Declares reports whether a schema declares or requires a member.
func (s *Shape) Declares(name string) bool {
	return slices.ContainsFunc(s.parts, func(n *Node) bool {
		m := n.members[name]
		return m != nil && (m.declared || m.index >= 0)
	})
}

// IsOpen reports whether an object is meant to have members that are not declared.
func (s *Shape) IsOpen() bool {
	return len(s.Names()) == 0 || slices.ContainsFunc(s.parts, func(n *Node) bool {
		return n.hasAdditional && !n.closed || len(n.patterns) > 0
	})
}

// Element returns the shape of the element at an index.
func (s *Shape) Element(i int) *Shape {
	var nodes []*Node
	for _, n := range s.parts {
		if i < len(n.prefix) {
			nodes = append(nodes, n.prefix[i])
		} else {
			nodes = append(nodes, n.items)
		}
	}
	return s.inside(nodes, KindArray, i, nil)
}

// Member returns the shape of the member with a name.
func (s *Shape) Member(name string) *Shape {
	var nodes []*Node
	for _, n := range s.parts {
		m := n.members[name]
		evaluated := m != nil && m.declared
		if evaluated {
			nodes = append(nodes, m.node)
		}
		for _, p := range n.patterns {
			if p.pattern.MatchString(name) {
				nodes, evaluated = append(nodes, p.node), true
			}
		}
		if !evaluated {
			nodes = append(nodes, n.additional)
		}
	}
	return s.inside(nodes, KindObject, 0, []byte(name))
}

// inside returns the shape of a member or element that must match nodes, and the schemas for unevaluated ones if
// no schema evaluates it.
func (s *Shape) inside(nodes []*Node, kind Kinds, index int, name []byte) *Shape {
	if !slices.ContainsFunc(s.parts, func(n *Node) bool { return n.evaluates(kind, index, name) }) {
		for _, n := range s.parts {
			if u := n.unevaluated(kind); u != nil {
				nodes = append(nodes, u.node)
			}
		}
	}
	return ShapeOf(nodes...)
}

// collect appends n and all nodes that may apply to the same value, and returns the types that they allow.
func (n *Node) collect(parts *[]*Node) Kinds {
	if n == nil {
		return KindAny
	}
	if slices.Contains(*parts, n) {
		return n.types.orAny()
	}
	*parts = append(*parts, n)
	types := n.types.orAny()
	for _, other := range n.allOf {
		types &= other.collect(parts)
	}
	for _, u := range n.unions {
		var either Kinds
		for _, a := range u.alternatives {
			either |= a.node.collect(parts)
		}
		types &= either
	}
	if n.condition != nil {
		types &= n.condition.then.collect(parts) | n.condition.otherwise.collect(parts)
	}
	for _, d := range n.dependents {
		d.node.collect(parts)
	}
	return types
}
