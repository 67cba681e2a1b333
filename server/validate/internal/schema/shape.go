package schema

import (
	"maps"
	"slices"
)

// Shape describes which JSON values the texts at one location may represent. Texts in parameters, forms and
// parts have no types, so the types of the schema determine their JSON.
type Shape struct {
	Nodes []*Node // the schemas that the value must match
	Some  []*Node // those that it must match depending on others: of members of an alternative, for example
	parts []*Node // all these, and all schemas that they may apply to the same value
	sure  []*Node // of the parts, those that apply to each value
	Types Kinds   // the types that the schemas allow

	prefixed int // the number of elements that have their own schemas
}

// ShapeOf returns the shape of a value that must match all nodes. Some may be nil. It takes ownership of nodes.
func ShapeOf(nodes ...*Node) *Shape { return shapeOf(nodes, nil) }

func shapeOf(all, some []*Node) *Shape {
	saysNothing := func(n *Node) bool { return n == nil || n == anything }
	s := &Shape{Types: KindAny, Nodes: slices.DeleteFunc(all, saysNothing), Some: slices.DeleteFunc(some, saysNothing)}
	for _, n := range s.Nodes {
		s.Types &= s.collect(n, true)
	}
	var either Kinds
	for _, n := range s.Some {
		either |= s.collect(n, false)
	}
	if len(s.Some) > 0 {
		s.Types &= either
	}
	for _, n := range s.parts {
		s.prefixed = max(s.prefixed, len(n.prefix))
	}
	return s
}

// Accepts reports whether a JSON text matches all schemas that it must, and one of the others.
func (s *Shape) Accepts(text []byte, w *Walker) bool {
	return w.Accepts(s.Nodes, text) &&
		(len(s.Some) == 0 || slices.ContainsFunc(s.Some, func(n *Node) bool { return w.Accepts([]*Node{n}, text) }))
}

// IsBinary reports whether the text may be any bytes.
func (s *Shape) IsBinary() bool {
	isBinary := func(n *Node) bool { return n.format.isBinary() }
	return slices.ContainsFunc(s.Nodes, isBinary) || slices.ContainsFunc(s.Some, isBinary)
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
		return n.additional.isOpen() || len(n.patterns) > 0 || n.unevaluatedProperties.isOpen()
	})
}

// Element returns the shape of the element at an index.
func (s *Shape) Element(i int) *Shape {
	return s.inside(KindArray, i, nil, func(n *Node) []*Node {
		if i < len(n.prefix) {
			return []*Node{n.prefix[i]}
		}
		return []*Node{n.items}
	})
}

// Member returns the shape of the member with a name.
func (s *Shape) Member(name string) *Shape {
	return s.inside(KindObject, 0, []byte(name), func(n *Node) (nodes []*Node) {
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
		if !evaluated && n.additional.isOpen() {
			nodes = append(nodes, n.additional)
		}
		return nodes
	})
}

// inside returns the shape of a member or element that must match the nodes that the parts apply to it, and the schemas
// for unevaluated ones if no part evaluates it.
func (s *Shape) inside(kind Kinds, index int, name []byte, applied func(*Node) []*Node) *Shape {
	var all, some []*Node
	isUnevaluated := !slices.ContainsFunc(s.parts, func(n *Node) bool { return n.evaluates(kind, index, name) })
	for _, n := range s.parts {
		nodes := applied(n)
		if u := n.unevaluated(kind); u != nil && isUnevaluated {
			nodes = append(nodes, u)
		}
		if slices.Contains(s.sure, n) {
			all = append(all, nodes...)
		} else {
			some = append(some, nodes...)
		}
	}
	return shapeOf(all, some)
}

// collect appends n and all nodes that may apply to the same value, and returns the types that they allow. sure is
// true if n applies to each value.
func (s *Shape) collect(n *Node, sure bool) Kinds {
	if n == nil {
		return KindAny
	}
	types, isPart := n.types.orAny(), slices.Contains(s.parts, n)
	if isPart && (!sure || slices.Contains(s.sure, n)) {
		return types
	}
	if !isPart {
		s.parts = append(s.parts, n)
	}
	if sure {
		s.sure = append(s.sure, n)
	}
	for _, other := range n.allOf {
		types &= s.collect(other, sure)
	}
	for _, u := range n.unions {
		var either Kinds
		for _, alternative := range u.alternatives {
			either |= s.collect(alternative, false)
		}
		types &= either
	}
	if n.condition != nil {
		types &= s.collect(n.condition.then, false) | s.collect(n.condition.otherwise, false)
	}
	for _, d := range n.dependents {
		s.collect(d.node, false)
	}
	return types
}
