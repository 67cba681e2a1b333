// Package schema compiles the schemas of a document to nodes and checks values against them.
//
// A value is read once, to a tape: its values in the order of the text. A [Walker] walks along the tape with the nodes
// that describe the current value. A [Shape] says which values a text without types can stand for, such as a parameter.
package schema

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// Compiler compiles the schemas of a document, each once. It adds to the errors of the document what is invalid or not
// supported in them.
type Compiler struct {
	*document.Document

	formats  map[string]*format
	patterns map[string]*pattern
	nodes    map[nodeKey]*Node
	order    []locatedNode // nodes with their locations, in the order of compilation
	pending  []func()      // called after all schemas have been compiled
}

type locatedNode struct {
	at   *document.Node
	node *Node
}

// NewCompiler returns a compiler for the schemas of a document.
func NewCompiler(l *document.Document) *Compiler {
	return &Compiler{Document: l, formats: formats(), patterns: make(map[string]*pattern), nodes: make(map[nodeKey]*Node)}
}

// WhenCompiled calls f after all schemas have been compiled, unless some contain themselves.
func (c *Compiler) WhenCompiled(f func()) { c.pending = append(c.pending, f) }

// nodeKey identifies a compiled schema. The same schema can compile to several nodes, because the target of a
// $dynamicRef depends on the dynamic scope.
type nodeKey struct {
	source *document.Node
	scope  string
	events bool
}

// Schema compiles a schema. It compiles each schema of the document only once. It returns nil for a schema
// that allows all values.
func (c *Compiler) Schema(source *document.Node) *Node { return c.schemaIn(new(scope), source) }

// EventSchema compiles the schema of server-sent events, in which contentSchema is enforced.
func (c *Compiler) EventSchema(source *document.Node) *Node {
	return c.schemaIn(&scope{events: true}, source)
}

func (c *Compiler) schemaIn(s *scope, source *document.Node) *Node {
	if source == nil || source.Kind == jsontext.KindTrue {
		return nil
	}
	s = s.enter(c.DynamicAnchors(source))
	key := nodeKey{source, s.text, s.events}
	if n := c.nodes[key]; n != nil {
		n.shared = true
		return n
	}
	if ref := source.Get("$ref"); ref != nil && isReference(source) && c.Resolve(source) != nil {
		return c.schemaIn(s, c.Target(ref))
	}
	n := &Node{}
	c.nodes[key] = n // set before compiling the rest, because schemas may be recursive
	if source.Kind == jsontext.KindFalse {
		n.forbidden = always
		return n
	}
	c.order = append(c.order, locatedNode{source, n})
	if source.Get("readOnly").IsTrue() {
		n.forbidden |= InRequest
	}
	if source.Get("writeOnly").IsTrue() {
		n.forbidden |= InResponse
	}
	c.types(n, source)
	c.literals(n, source)
	c.scalars(n, source)
	c.arrays(s, n, source)
	c.objects(s, n, source)
	c.moreObjects(s, n, source)
	c.inPlace(s, n, source)
	c.contentSchema(s, n, source)
	return n
}

// given is schemaIn, but returns anything for a schema that allows all values, and nil only if there is none.
func (c *Compiler) given(s *scope, source *document.Node) *Node {
	if source == nil {
		return nil
	}
	return cmp.Or(c.schemaIn(s, source), anything)
}

// isReference reports whether a schema has no constraint besides $ref.
func isReference(source *document.Node) bool {
	for name := range source.All() {
		switch name {
		case "$ref", "title", "description", "$comment", "deprecated", "default", "example", "examples", "externalDocs", "xml":
		default:
			if !strings.HasPrefix(name, "x-") {
				return false
			}
		}
	}
	return true
}

// inPlace compiles the keywords that apply other schemas to the same value.
func (c *Compiler) inPlace(s *scope, n *Node, source *document.Node) {
	if ref := source.Get("$ref"); ref != nil {
		n.addAllOf(c.schemaIn(s, c.Target(ref)))
	}
	if ref := source.Get("$dynamicRef"); ref != nil {
		n.addAllOf(c.schemaIn(s, c.dynamicTarget(s, ref)))
	}
	if all := source.Get("allOf"); all != nil {
		if len(all.Elements) == 0 {
			c.Fail(all, "must have a schema")
		}
		for _, element := range all.Elements {
			n.addAllOf(c.schemaIn(s, element))
		}
	}
	n.not = c.given(s, source.Get("not"))
	if when := source.Get("if"); when != nil {
		n.condition = &condition{c.schemaIn(s, when), c.schemaIn(s, source.Get("then")), c.schemaIn(s, source.Get("else"))}
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		if alternatives := source.Get(keyword); alternatives != nil {
			n.unions = append(n.unions, c.union(s, keyword, alternatives, source.Get("discriminator")))
		}
	}
}

// rejectCycles reports schemas that contain themselves at the same location of a value, and whether there are
// any.
func (c *Compiler) rejectCycles() (found bool) {
	const open, done = 1, 2
	state := make(map[*Node]int)
	var visit func(at *document.Node, n *Node)
	visit = func(at *document.Node, n *Node) {
		switch {
		case n == nil || state[n] == done:
			return
		case state[n] == open:
			c.Fail(at, "contains itself without a member or an element between")
			found = true
			return
		}
		state[n] = open
		for _, inner := range n.inPlace() {
			visit(at, inner)
		}
		state[n] = done
	}
	for _, p := range c.order {
		visit(p.at, p.node)
	}
	return found
}

// Finish computes what depends on several schemas, after all have been compiled.
func (c *Compiler) Finish() {
	if c.rejectCycles() {
		return
	}
	for _, f := range c.pending {
		f()
	}
	for i, p := range c.order {
		n := p.node
		n.hasBranches = n.not != nil || n.condition != nil ||
			slices.ContainsFunc(n.unions, (*union).branches) ||
			slices.ContainsFunc(n.dependents, func(d dependent) bool { return d.node != nil })
		if n.hasBranches {
			n.addNames(n, make(map[*Node]bool))
		}
		for _, m := range n.members {
			n.exempts |= m.node.unsent()
		}
		if n.shared || n.exempts != 0 {
			n.id = uint32(i + 1)
		}
	}
}

// addNames adds the names of members that only other schemas for the same value have, so that pointers contain
// them whether or not these schemas apply.
func (n *Node) addNames(from *Node, done map[*Node]bool) {
	if from == nil || done[from] {
		return
	}
	done[from] = true
	for name := range from.members {
		n.member(name)
	}
	for _, inner := range from.inPlace() {
		n.addNames(inner, done)
	}
}
