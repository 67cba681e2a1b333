package validate

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// schema compiles a schema, once for each schema that the document has. It returns nil when the
// schema cannot be read at all.
func (c *compiler) schema(at string, ref *openapi3.SchemaRef) *node {
	if ref == nil || ref.Value == nil {
		c.fail(at, "is not resolved")
		return nil
	}
	siblings := c.refSiblings(at, ref)
	if !siblings {
		at = place(at, ref.Ref)
	}
	s := ref.Value
	if n := c.nodes[s]; n != nil {
		return n
	}
	n := &node{}
	c.nodes[s] = n // now, for schemas that contain themselves
	c.order = append(c.order, placed{at, n})
	c.refuseUnknownKeywords(at, s)
	c.types(at, n, s)
	c.literals(at, n, s)
	c.scalars(at, n, s)
	c.containers(at, n, s)
	for i, also := range s.AllOf {
		below := at + "/allOf/" + strconv.Itoa(i)
		if siblings && also.Ref == "" && i == len(s.AllOf)-1 {
			below = at // the loader moves the siblings of a $ref there
		}
		if m := c.schema(below, also); m != nil {
			n.allOf = append(n.allOf, m)
		}
	}
	if s.OneOf != nil {
		n.unions = append(n.unions, c.union(at, "oneOf", s.OneOf, s.Discriminator))
	}
	if s.AnyOf != nil {
		n.unions = append(n.unions, c.union(at, "anyOf", s.AnyOf, s.Discriminator))
	}
	if s.Discriminator != nil && s.OneOf == nil && s.AnyOf == nil {
		c.fail(at+"/discriminator", "has no oneOf or anyOf beside it")
	}
	return n
}

func (c *compiler) types(at string, n *node, s *openapi3.Schema) {
	if s.Type == nil {
		return
	}
	for _, name := range *s.Type {
		kind := kindNamed(name)
		if kind == 0 {
			c.fail(at+"/type", "is not known: %s", name)
			return
		}
		n.types |= kind
	}
	if n.types == 0 {
		c.fail(at+"/type", "is empty")
	}
}

func (c *compiler) literals(at string, n *node, s *openapi3.Schema) {
	if s.Enum != nil && s.Const != nil {
		c.fail(at+"/const", "must not be beside enum")
		return
	}
	keyword, values := "enum", s.Enum
	if s.Const != nil {
		keyword, values = "const", []any{s.Const}
	}
	if values == nil {
		return
	}
	if len(values) == 0 {
		c.fail(at+"/enum", "is empty")
		return
	}
	n.enumKeyword, n.enum = keyword, make(map[string]struct{}, len(values))
	var texts []string
	for _, value := range values {
		canonical, text, err := canonicalLiteral(value)
		if err != nil {
			c.fail(at+"/"+keyword, "%v", err)
			return
		}
		n.enum[canonical] = struct{}{}
		n.enumDepth = max(n.enumDepth, depthOf(value))
		texts = append(texts, text)
	}
	n.enumText = strings.Join(texts, ", ")
	if len(texts) > 1 {
		n.enumText = "one of " + n.enumText
	}
}

func (c *compiler) scalars(at string, n *node, s *openapi3.Schema) {
	n.minLength, n.maxLength = least(s.MinLength), most(s.MaxLength)
	if s.Pattern != "" {
		compiled, err := compilePattern(s.Pattern)
		if err != nil {
			c.fail(at+"/pattern", "%v", err)
		}
		n.pattern = compiled
	}
	c.format(at, n, s.Format)
	c.bound(at, n, "minimum", "at least ", s.Min)
	c.bound(at, n, "maximum", "at most ", s.Max)
	c.bound(at, n, "exclusiveMinimum", "greater than ", s.ExclusiveMin.Value)
	c.bound(at, n, "exclusiveMaximum", "less than ", s.ExclusiveMax.Value)
}

func (c *compiler) format(at string, n *node, name string) {
	if n.types&kindNumber != 0 {
		n.number, _ = formatOf("double")
	} else if n.types&kindInteger != 0 {
		n.number, _ = formatOf("int64")
	}
	if name == "" {
		return
	}
	f, ok := formatOf(name)
	types := n.types
	if types == 0 {
		types = kindString // no other type has formats that ignore the rest
	}
	switch {
	case !ok:
		c.fail(at+"/format", "is not known: %s", name)
	case f.types&types == 0:
		c.fail(at+"/format", "%s is not for this type", name)
	case f.types == kindString:
		n.format = f
	default:
		n.number = f
	}
}

func (c *compiler) bound(at string, n *node, keyword, relation string, value *float64) {
	if value == nil {
		return
	}
	if !exact(*value) {
		c.fail(at+"/"+keyword, "%v", errInexact)
		return
	}
	text := strconv.FormatFloat(*value, 'f', -1, 64)
	n.bounds = append(n.bounds, bound{keyword, decimalOf(*value), "must be " + relation + text})
}

func (c *compiler) containers(at string, n *node, s *openapi3.Schema) {
	n.minItems, n.maxItems = least(s.MinItems), most(s.MaxItems)
	n.minProps, n.maxProps = least(s.MinProps), most(s.MaxProps)
	if s.Items != nil {
		n.items = c.schema(at+"/items", s.Items)
	}
	if has := s.AdditionalProperties.Has; has != nil {
		n.closed = !*has
	}
	if ref := s.AdditionalProperties.Schema; ref != nil {
		n.additional = c.schema(at+"/additionalProperties", ref)
	}
	if len(s.Properties)+len(s.Required) == 0 {
		return
	}
	n.members = make(map[string]*member)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		m := newMember(name)
		m.node = c.schema(at+"/properties"+m.token, s.Properties[name])
		n.members[name] = m
	}
	for _, name := range s.Required {
		m := n.members[name]
		if m == nil {
			m = newMember(name)
			n.members[name] = m
		}
		if m.index < 0 {
			m.index = len(n.required)
			n.required = append(n.required, m)
		}
	}
	if len(s.Properties) > 0 {
		n.folded = make(map[string]*member, len(n.members))
		for _, name := range slices.Sorted(maps.Keys(n.members)) {
			n.folded[string(foldName(nil, []byte(name)))] = n.members[name]
		}
	}
}

func least(n uint64) limit { return limit{n, n > 0} }

func most(n *uint64) limit {
	if n == nil {
		return limit{}
	}
	return limit{*n, true}
}

// refuseCycles refuses schemas that contain themselves at the same place of a value.
func (c *compiler) refuseCycles() {
	const open, done = 1, 2
	state := make(map[*node]int)
	var visit func(at string, n *node)
	visit = func(at string, n *node) {
		switch {
		case n == nil || state[n] == done:
			return
		case state[n] == open:
			c.fail(at, "contains itself without a member or an element between")
			return
		}
		state[n] = open
		for _, also := range n.allOf {
			visit(at, also)
		}
		for _, u := range n.unions {
			visit(at, u.only)
			for _, value := range slices.Sorted(maps.Keys(u.byValue)) {
				visit(at, u.byValue[value])
			}
		}
		state[n] = done
	}
	for _, p := range c.order {
		visit(p.at, p.node)
	}
}
