// Package schema compiles the schemas of a document to nodes and checks values against them.
//
// A value is read once, to a tape: its values in the order of the text. A [Walker] walks along the tape with the nodes that
// describe the current value. A [Shape] says which values a text without types can stand for, such as a parameter.
package schema

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/decimal"
	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// Compiler compiles the schemas of a document, each once. It adds to the errors of the document what is invalid or not
// supported in them.
type Compiler struct {
	*document.Document

	formats  map[string]*format // of the package
	custom   map[string]func(string) bool
	patterns map[string]*pattern
	nodes    map[nodeKey]*Node
	order    []locatedNode // nodes with their locations, in the order of compilation
	pending  []func()      // called after all schemas have been compiled
}

type locatedNode struct {
	at   *document.Node
	node *Node
}

// NewCompiler returns a compiler for the schemas of a document. custom adds formats, or replaces those of the package.
func NewCompiler(l *document.Document, custom map[string]func(string) bool) *Compiler {
	return &Compiler{
		Document: l, formats: formats(), custom: custom, patterns: make(map[string]*pattern), nodes: make(map[nodeKey]*Node),
	}
}

// WhenCompiled calls f after all schemas have been compiled, unless some contain themselves.
func (c *Compiler) WhenCompiled(f func()) { c.pending = append(c.pending, f) }

// nodeKey identifies a compiled schema. The same schema can compile to several nodes, because the target of a
// $dynamicRef depends on the dynamic scope.
type nodeKey struct {
	source *document.Node
	scope  string
}

// Schema compiles a schema. It compiles each schema of the document only once. It returns nil for a schema
// that allows all values.
func (c *Compiler) Schema(source *document.Node) *Node { return c.schemaIn(nil, source) }

// EventSchema compiles the schema of server-sent events, in which contentSchema is enforced.
func (c *Compiler) EventSchema(source *document.Node) *Node {
	return c.schemaIn(&scope{text: "events ", events: true}, source)
}

func (c *Compiler) schemaIn(s *scope, source *document.Node) *Node {
	if source == nil || source.Kind == jsontext.KindTrue {
		return nil
	}
	s = s.enter(c.DynamicAnchors(source))
	key := nodeKey{source, s.key()}
	if n := c.nodes[key]; n != nil {
		n.shared = true
		return n
	}
	if ref := source.Get("$ref"); ref != nil && isPlain(source, "$ref") && c.Resolve(source) != nil {
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

// schemaOrAny is schemaIn, but returns an empty node instead of nil.
func (c *Compiler) schemaOrAny(s *scope, source *document.Node) *Node {
	if n := c.schemaIn(s, source); n != nil {
		return n
	}
	return &Node{}
}

// isPlain reports whether a schema has no constraint besides keyword.
func isPlain(source *document.Node, keyword string) bool {
	for name := range source.All() {
		switch name {
		case keyword, "title", "description", "$comment", "deprecated", "default", "example", "examples", "externalDocs", "xml":
		default:
			if !strings.HasPrefix(name, "x-") {
				return false
			}
		}
	}
	return true
}

// typesOf returns the types that the schema, or the target of its $ref, allows. It returns 0 if all are
// allowed.
func (c *Compiler) typesOf(source *document.Node) Kinds {
	var n Node
	for range 100 { // cyclic references are reported elsewhere
		if c.types(&n, source); n.types != 0 || source.Get("$ref") == nil {
			return n.types
		}
		source = c.Target(source.Get("$ref"))
	}
	return 0
}

func (c *Compiler) types(n *Node, source *document.Node) {
	t := source.Get("type")
	if t == nil {
		return
	}
	names := t.Elements
	if t.Kind == jsontext.KindString {
		names = []*document.Node{t}
	}
	for _, name := range names {
		kind := kindNamed(name.Text)
		if kind == 0 || name.Kind != jsontext.KindString || n.types&kind != 0 {
			c.Fail(name, "must be array, boolean, integer, null, number, object or string, and occur once")
			continue
		}
		n.types |= kind
	}
	if len(names) == 0 {
		c.Fail(t, "must be the name of a type, or several")
	}
}

func (c *Compiler) literals(n *Node, source *document.Node) {
	if value := source.Get("const"); value != nil {
		n.literals = append(n.literals, c.literal(value, "const", []*document.Node{value}))
	}
	if values := source.Get("enum"); values != nil {
		n.literals = append(n.literals, c.literal(values, "enum", values.Elements))
	}
}

func (c *Compiler) literal(at *document.Node, keyword string, values []*document.Node) *literal {
	l := &literal{keyword: keyword, values: make(map[string]struct{}, len(values))}
	var texts []string
	for _, value := range values {
		canonical, text, depth, err := canonicalLiteral(value)
		if err != nil {
			c.Fail(at, err.Error())
			continue
		}
		l.values[canonical] = struct{}{}
		l.depth = max(l.depth, depth)
		texts = append(texts, text)
	}
	switch l.detail = "must be " + strings.Join(texts, ", "); len(texts) {
	case 0:
		l.detail = "must not be given"
	case 1:
	default:
		l.detail = "must be one of " + strings.Join(texts, ", ")
	}
	return l
}

func (c *Compiler) scalars(n *Node, source *document.Node) {
	n.minLength, n.maxLength = least(source.Get("minLength")), most(source.Get("maxLength"))
	if text := source.Get("pattern"); text != nil {
		n.pattern = c.pattern(text)
	}
	c.format(n, source.Get("format"))
	c.bound(n, source, "minimum", "at least ")
	c.bound(n, source, "maximum", "at most ")
	c.bound(n, source, "exclusiveMinimum", "greater than ")
	c.bound(n, source, "exclusiveMaximum", "less than ")
	if multiple := source.Get("multipleOf"); multiple != nil {
		n.multipleOf = c.multipleOf(multiple)
	}
}

// pattern compiles a regular expression. It returns nil if the expression is not supported.
func (c *Compiler) pattern(n *document.Node) *pattern {
	if known := c.patterns[n.Text]; known != nil {
		return known
	}
	compiled, err := compilePattern(n.Text)
	if err != nil {
		c.Unsupported(n, err.Error())
		return nil
	}
	c.patterns[n.Text] = compiled
	return compiled
}

// format compiles the format of a schema. Numbers must fit their Go type even without a format.
func (c *Compiler) format(n *Node, name *document.Node) {
	if n.types&kindNumber != 0 {
		n.number = c.formats["double"]
	} else if n.types&kindInteger != 0 {
		n.number = c.formats["int64"]
	}
	if name == nil {
		return
	}
	f := c.formats[name.Text]
	if check := c.custom[name.Text]; check != nil {
		f = &format{KindString, func(text []byte) bool { return check(string(text)) }, "must be of the format " + name.Text}
	}
	switch { // a format constrains the values of its own type only
	case f == nil:
		c.Unsupported(name, "is a format that is not known: "+name.Text)
	case f.types == KindString && n.allows(KindString):
		n.format = f
	case f.types == kindInteger && n.allows(kindInteger|kindNumber), f.types == kindNumber && n.allows(kindNumber):
		n.number = f
	}
}

func (c *Compiler) bound(n *Node, source *document.Node, keyword, relation string) {
	if value := source.Get(keyword); value != nil {
		n.bounds = append(n.bounds, bound{keyword, decimal.Parse(nil, []byte(value.Text)), "must be " + relation + value.Text})
	}
}

// multipleOf compiles a multipleOf with its exact value.
func (c *Compiler) multipleOf(n *document.Node) *multiple {
	d := decimal.Parse(nil, []byte(n.Text))
	if !d.IsPositive() {
		c.Fail(n, "must be greater than 0")
		return nil
	}
	of, ok := d.Divisor()
	if !ok {
		c.Unsupported(n, "must have at most 18 digits")
		return nil
	}
	return &multiple{of, "must be a multiple of " + n.Text}
}

func (c *Compiler) arrays(s *scope, n *Node, source *document.Node) {
	n.minItems, n.maxItems = least(source.Get("minItems")), most(source.Get("maxItems"))
	if prefix := source.Get("prefixItems"); prefix != nil {
		if len(prefix.Elements) == 0 {
			c.Fail(prefix, "must have a schema")
		}
		for _, element := range prefix.Elements {
			n.prefix = append(n.prefix, c.schemaIn(s, element))
		}
	}
	n.items, n.hasItems = c.schemaIn(s, source.Get("items")), source.Get("items") != nil
	if contained := source.Get("contains"); contained != nil {
		n.contains = &contains{node: c.schemaOrAny(s, contained), most: most(source.Get("maxContains"))}
		n.contains.least = most(source.Get("minContains")) // minContains: 0 differs from no minContains
	}
	n.unique = source.Get("uniqueItems").IsTrue()
	n.unevaluatedItems = c.unevaluated(s, source.Get("unevaluatedItems"))
}

// unevaluated compiles unevaluatedItems or unevaluatedProperties.
func (c *Compiler) unevaluated(s *scope, source *document.Node) *unevaluated {
	if source == nil {
		return nil
	}
	return &unevaluated{closed: source.Kind == jsontext.KindFalse, node: c.schemaIn(s, source)}
}

func (c *Compiler) objects(s *scope, n *Node, source *document.Node) {
	n.minProps, n.maxProps = least(source.Get("minProperties")), most(source.Get("maxProperties"))
	if additional := source.Get("additionalProperties"); additional != nil {
		n.closed, n.hasAdditional = additional.Kind == jsontext.KindFalse, true
		if !n.closed {
			n.additional = c.schemaIn(s, additional)
		}
	}
	properties, required := source.Get("properties"), source.Get("required")
	if properties != nil {
		for _, property := range properties.Members {
			m := n.member(property.Name)
			m.declared = true
			m.node = c.schemaIn(s, property.Value)
		}
	}
	if required != nil {
		for _, name := range required.Elements {
			m := n.member(name.Text)
			if m.index >= 0 {
				c.Fail(name, "occurs more than once")
				continue
			}
			m.index = len(n.required)
			n.required = append(n.required, m)
		}
	}
	if properties != nil && len(properties.Members) > 0 {
		n.folded = make(map[string]*member, len(n.members))
		for _, name := range slices.Sorted(maps.Keys(n.members)) {
			n.folded[string(foldName(nil, []byte(name)))] = n.members[name]
		}
	}
}

// moreObjects compiles the rarer object keywords.
func (c *Compiler) moreObjects(s *scope, n *Node, source *document.Node) {
	if patterns := source.Get("patternProperties"); patterns != nil {
		for _, m := range patterns.Members {
			if compiled := c.pattern(patterns.Key(m)); compiled != nil {
				n.patterns = append(n.patterns, patternMembers{compiled, c.schemaIn(s, m.Value)})
			}
		}
	}
	n.names = c.schemaIn(s, source.Get("propertyNames"))
	for name, list := range source.Get("dependentRequired").All() {
		d := dependent{name: name}
		for _, required := range list.Elements {
			d.required = append(d.required, newMember(required.Text))
		}
		n.dependents = append(n.dependents, d)
	}
	for name, schema := range source.Get("dependentSchemas").All() {
		n.dependents = append(n.dependents, dependent{name: name, node: c.schemaIn(s, schema)})
	}
	n.unevaluatedProperties = c.unevaluated(s, source.Get("unevaluatedProperties"))
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
	if not := source.Get("not"); not != nil {
		n.not = c.schemaOrAny(s, not)
	}
	if when := source.Get("if"); when != nil {
		n.condition = &condition{c.schemaIn(s, when), c.schemaIn(s, source.Get("then")), c.schemaIn(s, source.Get("else"))}
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		if alternatives := source.Get(keyword); alternatives != nil {
			n.unions = append(n.unions, c.union(s, keyword, alternatives, source.Get("discriminator")))
		}
	}
	discriminator := source.Get("discriminator")
	if name := discriminator.Get("propertyName"); c.Is32 && name != nil && len(n.unions) > 0 && discriminator.Get("defaultMapping") == nil {
		c.WhenCompiled(func() {
			if !n.requires(name.Text) {
				c.Fail(discriminator, "must have the member defaultMapping, because "+name.Text+" is optional")
			}
		})
	}
}

// least returns a lower limit. 0 is the same as no limit.
func least(n *document.Node) Limit {
	count, _ := document.CountOf(n)
	return Limit{count, count > 0}
}

func most(n *document.Node) Limit {
	count, ok := document.CountOf(n)
	return Limit{count, ok}
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
	oneWay := slices.ContainsFunc(c.order, func(p locatedNode) bool { return p.node.forbidden != 0 && p.node.forbidden != always })
	for i, p := range c.order {
		n := p.node
		n.conditional = n.not != nil || n.condition != nil ||
			slices.ContainsFunc(n.unions, func(u *union) bool { return u.general }) ||
			slices.ContainsFunc(n.dependents, func(d dependent) bool { return d.node != nil })
		if n.conditional {
			n.addNames(n, make(map[*Node]bool))
		}
		if n.shared {
			n.id = uint32(i + 1)
		}
		if oneWay {
			exemptRequired([]*Node{n}, make(map[string]bool))
		}
	}
}

// exemptRequired exempts the members that a value of some nodes does not have in a direction from all lists of required
// members for this value, whichever schema has the list, and does so for the elements and members that several of them
// describe.
func exemptRequired(roots []*Node, done map[string]bool) {
	key := fmt.Sprintf("%p", roots)
	if done[key] {
		return
	}
	done[key] = true
	here := make(map[*Node]bool)
	for _, root := range roots {
		root.together(here)
	}
	parts := make(map[string][]*Node)
	add := func(name string, part *Node) {
		if part != nil && !slices.Contains(parts[name], part) {
			parts[name] = append(parts[name], part)
		}
	}
	for other := range here {
		add("", other.items)
		for name, m := range other.members {
			add("/"+name, m.node)
		}
	}
	for _, shared := range parts {
		if len(shared) > 1 {
			slices.SortFunc(shared, func(a, b *Node) int { return cmp.Compare(fmt.Sprintf("%p", a), fmt.Sprintf("%p", b)) })
			exemptRequired(shared, done)
		}
	}
	exempt := make(map[string]Direction)
	for other := range here {
		for name, m := range other.members {
			if d := m.node.exempt(); d != 0 {
				exempt[name] |= d
			}
		}
	}
	if len(exempt) == 0 {
		return
	}
	for other := range here {
		for _, m := range other.required {
			m.exempt |= exempt[m.name]
		}
		for _, d := range other.dependents {
			for _, m := range d.required {
				m.exempt |= exempt[m.name]
			}
		}
	}
}

// together adds n and the nodes that constrain the same value to a set. Those of not and if only test it.
func (n *Node) together(found map[*Node]bool) {
	if n == nil || found[n] {
		return
	}
	found[n] = true
	for _, other := range n.inPlace() {
		if other != n.not && (n.condition == nil || other != n.condition.when) {
			other.together(found)
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

// exempt returns the directions in which a value of n is not sent.
func (n *Node) exempt() Direction {
	if n == nil || n.forbidden == always {
		return 0
	}
	d := n.forbidden
	for _, other := range n.allOf {
		d |= other.exempt()
	}
	return d
}
