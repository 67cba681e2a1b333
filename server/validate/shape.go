package validate

import (
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	kindScalar = kindNull | kindBoolean | kindInteger | kindNumber | kindString
	kindAny    = kindScalar | kindArray | kindObject
)

// shape describes which JSON values the texts at one location may represent. Texts in parameters, forms and
// parts have no types, so the types of the schema determine their JSON.
type shape struct {
	nodes []*node // the schemas that the value must match
	parts []*node // these, and all schemas that they may apply to the same value
	types kinds   // the types that the schemas allow

	prefixed int // the number of elements that have their own schemas
}

// shapeOf returns the shape of a value that must match all nodes. Some may be nil. It takes ownership of nodes.
func shapeOf(nodes ...*node) *shape {
	s := &shape{types: kindAny}
	s.nodes = slices.DeleteFunc(nodes, func(n *node) bool { return n == nil })
	for _, n := range s.nodes {
		s.types &= n.collect(&s.parts)
	}
	for _, n := range s.parts {
		s.prefixed = max(s.prefixed, len(n.prefix))
	}
	return s
}

// isBinary reports whether the text may be any bytes.
func (s *shape) isBinary() bool {
	return slices.ContainsFunc(s.nodes, func(n *node) bool { return n.format.isBinary() })
}

// names returns the names of the declared members, sorted.
func (s *shape) names() []string {
	names := make(map[string]bool)
	for _, n := range s.parts {
		for name := range n.members {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// declares reports whether a schema declares or requires a member.
func (s *shape) declares(name string) bool {
	return slices.ContainsFunc(s.parts, func(n *node) bool {
		m := n.members[name]
		return m != nil && (m.declared || m.index >= 0)
	})
}

// isOpen reports whether an object is meant to have members that are not declared.
func (s *shape) isOpen() bool {
	return len(s.names()) == 0 || slices.ContainsFunc(s.parts, func(n *node) bool {
		return n.hasAdditional && !n.closed || len(n.patterns) > 0
	})
}

// element returns the shape of the element at an index.
func (s *shape) element(i int) *shape {
	var nodes []*node
	for _, n := range s.parts {
		if i < len(n.prefix) {
			nodes = append(nodes, n.prefix[i])
		} else {
			nodes = append(nodes, n.items)
		}
	}
	return s.inside(nodes, kindArray, i, nil)
}

// member returns the shape of the member with a name.
func (s *shape) member(name string) *shape {
	var nodes []*node
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
	return s.inside(nodes, kindObject, 0, []byte(name))
}

// inside returns the shape of a member or element that must match nodes, and the schemas for unevaluated ones if
// no schema evaluates it.
func (s *shape) inside(nodes []*node, kind kinds, index int, name []byte) *shape {
	if !slices.ContainsFunc(s.parts, func(n *node) bool { return n.evaluates(kind, index, name) }) {
		for _, n := range s.parts {
			if u := n.unevaluated(kind); u != nil {
				nodes = append(nodes, u.node)
			}
		}
	}
	return shapeOf(nodes...)
}

// collect appends n and all nodes that may apply to the same value, and returns the types that they allow.
func (n *node) collect(parts *[]*node) kinds {
	if n == nil {
		return kindAny
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
		var either kinds
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
func (k kinds) orAny() kinds {
	switch {
	case k == 0:
		return kindAny
	case k&kindNumber != 0:
		return k | kindInteger
	}
	return k
}

// textValue is a value whose scalars are texts.
type textValue struct {
	kind     kinds // kindString, kindArray or kindObject; kindAny if text is JSON
	text     string
	elements []textValue
	names    []string // names of the elements, for an object
}

func stringValue(text string) textValue { return textValue{kind: kindString, text: text} }

// appendJSON appends the JSON that v represents.
func (s *shape) appendJSON(dst []byte, v textValue, w *walker) []byte {
	switch v.kind {
	case kindAny:
		return append(dst, v.text...)
	case kindString:
		return s.appendScalar(dst, v.text, w)
	}
	delimiters, inner := "[]", s
	if v.kind == kindObject {
		delimiters = "{}"
	}
	dst = append(dst, delimiters[0])
	for i, element := range v.elements {
		if i > 0 {
			dst = append(dst, ',')
		}
		if v.kind == kindObject {
			dst, _ = jsontext.AppendQuote(dst, v.names[i])
			dst = append(dst, ':')
		}
		switch {
		case v.kind == kindArray && i <= s.prefixed: // the others have the same shape
			inner = s.element(i)
		case v.kind == kindObject && element.kind != kindAny:
			inner = s.member(v.names[i])
		}
		dst = inner.appendJSON(dst, element, w)
	}
	return append(dst, delimiters[1])
}

// appendScalar appends the scalar that a text represents: null, a boolean or a number if the schema allows
// that type, and otherwise a string. If the schema allows both, the result is the one that matches the
// schema.
func (s *shape) appendScalar(dst []byte, text string, w *walker) []byte {
	types := s.types
	if types&kindScalar == 0 {
		types = kindAny // the types exclude each other: try all scalars
	}
	start := len(dst)
	if isLiteral(text, types) {
		dst = append(dst, text...)
		if types&kindString == 0 || w.accepts(s.nodes, dst[start:]) {
			return dst
		}
		dst = dst[:start]
	}
	dst, _ = jsontext.AppendQuote(dst, text) // invalid UTF-8 has been rejected before
	return dst
}

// isLiteral reports whether text is a JSON value of one of the types, except string.
func isLiteral(text string, types kinds) bool {
	switch text {
	case "null":
		return types&kindNull != 0
	case "true", "false":
		return types&kindBoolean != 0
	}
	return types&(kindNumber|kindInteger) != 0 && isDecimal([]byte(text))
}

// accepts reports whether a JSON text matches all nodes.
func (w *walker) accepts(nodes []*node, text []byte) bool {
	trial := newWalker(w.pool)
	trial.direction = w.direction
	defer trial.release()
	for _, n := range nodes {
		trial.walkBody(text, n)
	}
	return len(trial.found) == 0 && trial.malformed == ""
}

// isUTF8 reports whether all texts of t are valid UTF-8.
func (t textValue) isUTF8() bool {
	invalid := func(text string) bool { return !utf8.ValidString(text) }
	return utf8.ValidString(t.text) && !slices.ContainsFunc(t.names, invalid) &&
		!slices.ContainsFunc(t.elements, func(e textValue) bool { return !e.isUTF8() })
}
