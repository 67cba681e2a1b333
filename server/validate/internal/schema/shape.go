package schema

import (
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	KindScalar = KindNull | kindBoolean | kindInteger | kindNumber | KindString
	KindAny    = KindScalar | KindArray | KindObject
)

// Shape describes which JSON values the texts at one location may represent. Texts in parameters, forms and
// parts have no types, so the types of the schema determine their JSON.
type Shape struct {
	Nodes []*Node // the schemas that the value must match
	parts []*Node // these, and all schemas that they may apply to the same value
	Types Kinds   // the types that the schemas allow

	Prefixed int // the number of elements that have their own schemas
}

// ShapeOf returns the shape of a value that must match all nodes. Some may be nil. It takes ownership of nodes.
func ShapeOf(nodes ...*Node) *Shape {
	s := &Shape{Types: KindAny}
	s.Nodes = slices.DeleteFunc(nodes, func(n *Node) bool { return n == nil })
	for _, n := range s.Nodes {
		s.Types &= n.collect(&s.parts)
	}
	for _, n := range s.parts {
		s.Prefixed = max(s.Prefixed, len(n.prefix))
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

// orAny expands the zero value to all types, and adds integer to number.
func (k Kinds) orAny() Kinds {
	switch {
	case k == 0:
		return KindAny
	case k&kindNumber != 0:
		return k | kindInteger
	}
	return k
}

// TextValue is a value whose scalars are texts.
type TextValue struct {
	Kind     Kinds // kindString, kindArray or kindObject; kindAny if text is JSON
	Text     string
	Elements []TextValue
	Names    []string // names of the elements, for an object
}

func StringValue(text string) TextValue { return TextValue{Kind: KindString, Text: text} }

// AppendJSON appends the JSON that v represents.
func (s *Shape) AppendJSON(dst []byte, v TextValue, w *Walker) []byte {
	switch v.Kind {
	case KindAny:
		return append(dst, v.Text...)
	case KindString:
		return s.AppendScalar(dst, v.Text, w)
	}
	delimiters, inner := "[]", s
	if v.Kind == KindObject {
		delimiters = "{}"
	}
	dst = append(dst, delimiters[0])
	for i, element := range v.Elements {
		if i > 0 {
			dst = append(dst, ',')
		}
		if v.Kind == KindObject {
			dst, _ = jsontext.AppendQuote(dst, v.Names[i])
			dst = append(dst, ':')
		}
		switch {
		case v.Kind == KindArray && i <= s.Prefixed: // the others have the same shape
			inner = s.Element(i)
		case v.Kind == KindObject && element.Kind != KindAny:
			inner = s.Member(v.Names[i])
		}
		dst = inner.AppendJSON(dst, element, w)
	}
	return append(dst, delimiters[1])
}

// AppendScalar appends the scalar that a text represents: null, a boolean or a number if the schema allows
// that type, and otherwise a string. If the schema allows both, the result is the one that matches the
// schema.
func (s *Shape) AppendScalar(dst []byte, text string, w *Walker) []byte {
	types := s.Types
	if types&KindScalar == 0 {
		types = KindAny // the types exclude each other: try all scalars
	}
	start := len(dst)
	if isLiteral(text, types) {
		dst = append(dst, text...)
		if types&KindString == 0 || w.Accepts(s.Nodes, dst[start:]) {
			return dst
		}
		dst = dst[:start]
	}
	dst, _ = jsontext.AppendQuote(dst, text) // invalid UTF-8 has been rejected before
	return dst
}

// isLiteral reports whether text is a JSON value of one of the types, except string.
func isLiteral(text string, types Kinds) bool {
	switch text {
	case "null":
		return types&KindNull != 0
	case "true", "false":
		return types&kindBoolean != 0
	}
	return types&(kindNumber|kindInteger) != 0 && isDecimal([]byte(text))
}

// Accepts reports whether a JSON text matches all nodes.
func (w *Walker) Accepts(nodes []*Node, text []byte) bool {
	trial := NewWalker(w.pool)
	trial.Direction = w.Direction
	defer trial.release()
	for _, n := range nodes {
		trial.Check(text, n)
	}
	return len(trial.Found) == 0 && trial.Malformed == ""
}

// IsUTF8 reports whether all texts of t are valid UTF-8.
func (t TextValue) IsUTF8() bool {
	invalid := func(text string) bool { return !utf8.ValidString(text) }
	return utf8.ValidString(t.Text) && !slices.ContainsFunc(t.Names, invalid) &&
		!slices.ContainsFunc(t.Elements, func(e TextValue) bool { return !e.IsUTF8() })
}
