package validate

import (
	"fmt"
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
	nodes    []*node  // the schemas that the value must match
	types    kinds    // the types that the schemas allow
	prefix   []*shape // of the first elements
	items    *shape   // of the other elements
	members  map[string]*shape
	others   *shape        // of all other members, if there are no patterns
	patterns []othersShape // replaces others; one for each schema
	open     bool          // whether the object is meant to have members that are not declared
}

// othersShape is the constraint of one schema on undeclared members.
type othersShape struct {
	patterns []patternShape
	shape    *shape // of a member whose name matches no pattern
}

type patternShape struct {
	pattern *pattern
	shape   *shape
}

// names returns the names of the declared members, sorted.
func (s *shape) names() []string { return slices.Sorted(maps.Keys(s.members)) }

func (s *shape) element(i int) *shape {
	if i < len(s.prefix) {
		return s.prefix[i]
	}
	return s.items
}

func (s *shape) member(name string) *shape {
	if m := s.members[name]; m != nil {
		return m
	}
	if len(s.patterns) == 0 {
		return s.others
	}
	var all []*shape
	for _, o := range s.patterns {
		matched := len(all)
		for _, p := range o.patterns {
			if p.pattern.Match([]byte(name)) {
				all = append(all, p.shape)
			}
		}
		if len(all) == matched && len(o.shape.nodes) > 0 {
			all = append(all, o.shape)
		}
	}
	switch len(all) {
	case 0:
		return s.others
	case 1:
		return all[0]
	}
	both := *all[0] // the types and nodes are merged, so that scalars are correct
	for _, other := range all[1:] {
		both.types &= other.types
		both.nodes = slices.Concat(both.nodes, other.nodes)
	}
	return &both
}

// shapes caches shapes, because schemas may be recursive.
type shapes map[string]*shape

// of returns the shape of a value that must match all nodes.
func (known shapes) of(nodes ...*node) *shape {
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n *node) bool { return n == nil })
	key := fmt.Sprint(nodes) // the addresses of the nodes
	if s := known[key]; s != nil {
		return s
	}
	s := &shape{nodes: nodes, types: kindAny}
	known[key] = s
	var parts []*node
	for _, n := range nodes {
		s.types &= n.collect(&parts)
	}
	s.addElements(known, parts)
	s.addMembers(known, parts)
	return s
}

func (s *shape) addElements(known shapes, parts []*node) {
	longest := 0
	for _, n := range parts {
		longest = max(longest, len(n.prefix))
	}
	for i := range longest + 1 {
		var nodes []*node
		for _, n := range parts {
			if i < len(n.prefix) {
				nodes = append(nodes, n.prefix[i])
			} else {
				nodes = append(nodes, n.items)
			}
		}
		if i == longest {
			s.items = known.of(orUnevaluated(nodes, parts, kindArray)...)
		} else {
			s.prefix = append(s.prefix, known.of(nodes...))
		}
	}
}

func (s *shape) addMembers(known shapes, parts []*node) {
	s.members = make(map[string]*shape)
	var others []*node
	for _, n := range parts {
		others = append(others, n.additional)
		s.open = s.open || n.hasAdditional && !n.closed || len(n.patterns) > 0
		for name := range n.members {
			if s.members[name] == nil {
				s.members[name] = known.of(orUnevaluated(membersNamed(name, parts), parts, kindObject)...)
			}
		}
	}
	s.others = known.of(orUnevaluated(others, parts, kindObject)...)
	s.open = s.open || len(s.members) == 0
	if !slices.ContainsFunc(parts, func(n *node) bool { return len(n.patterns) > 0 }) {
		return
	}
	for _, n := range parts {
		o := othersShape{shape: known.of(n.additional)}
		for _, p := range n.patterns {
			o.patterns = append(o.patterns, patternShape{p.pattern, known.of(p.node)})
		}
		s.patterns = append(s.patterns, o)
	}
}

// membersNamed returns the schemas that parts have for the member with the given name.
func membersNamed(name string, parts []*node) (nodes []*node) {
	for _, n := range parts {
		m := n.members[name]
		evaluated := m != nil && m.declared
		if evaluated {
			nodes = append(nodes, m.node)
		}
		for _, p := range n.patterns {
			if p.pattern.Match([]byte(name)) {
				nodes, evaluated = append(nodes, p.node), true
			}
		}
		if !evaluated {
			nodes = append(nodes, n.additional)
		}
	}
	return nodes
}

// orUnevaluated returns nodes. If all of them are nil, it adds the schemas for unevaluated members or elements.
func orUnevaluated(nodes, parts []*node, kind kinds) []*node {
	if slices.ContainsFunc(nodes, func(n *node) bool { return n != nil }) {
		return nodes
	}
	for _, n := range parts {
		if u := n.unevaluated(kind); u != nil {
			nodes = append(nodes, u.node)
		}
	}
	return nodes
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
		for _, alternative := range u.alternatives {
			either |= alternative.collect(parts)
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
func (ks kinds) orAny() kinds {
	switch {
	case ks == 0:
		return kindAny
	case ks&kindNumber != 0:
		return ks | kindInteger
	}
	return ks
}

// textValue is a value whose scalars are texts.
type textValue struct {
	kind     kinds // kindString, kindArray or kindObject; kindAny if text is JSON
	text     string
	elements []textValue
	names    []string // names of the elements, for an object
}

// appendJSON appends the JSON that v represents.
func (s *shape) appendJSON(dst []byte, v textValue, w *walker) []byte {
	switch v.kind {
	case kindAny:
		return append(dst, v.text...)
	case kindArray:
		dst = append(dst, '[')
		for i, element := range v.elements {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = s.element(i).appendJSON(dst, element, w)
		}
		return append(dst, ']')
	case kindObject:
		dst = append(dst, '{')
		for i, element := range v.elements {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst, _ = jsontext.AppendQuote(dst, v.names[i])
			dst = s.member(v.names[i]).appendJSON(append(dst, ':'), element, w)
		}
		return append(dst, '}')
	}
	return s.appendScalar(dst, v.text, w)
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
	quoted, err := jsontext.AppendQuote(dst, text)
	if err != nil {
		quoted = append(dst, `""`...) // invalid UTF-8 has been rejected before
	}
	return quoted
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

// isUTF8 reports whether all texts of v are valid UTF-8.
func (v textValue) isUTF8() bool {
	for _, element := range v.elements {
		if !element.isUTF8() {
			return false
		}
	}
	for _, name := range v.names {
		if !utf8.ValidString(name) {
			return false
		}
	}
	return utf8.ValidString(v.text)
}
