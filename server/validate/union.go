package validate

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// choose returns the alternative that a value must match by its type or by a member. It may be nil.
func (w *walker) choose(u *union, v int, kind kinds) *node {
	for _, alternative := range u.byType {
		if alternative.types.allow(kind, nil) {
			return alternative.node
		}
	}
	if u.by == nil || kind != kindObject {
		w.add("type", "must be "+u.types.String())
		return nil
	}
	n, given := w.byMember(v, u.by.name, u.byValue)
	switch {
	case !given && !w.tape.isOpen(v): // otherwise the member may be in the text that is missing
		w.addBelow(u.by.token, "required", "is required")
	case given && n == nil:
		w.addBelow(u.by.token, u.keyword, "must be one of "+u.values)
	}
	return n
}

// byMember returns the node for the string that an object has as the member name, and whether it has that
// member.
func (w *walker) byMember(v int, name string, nodes map[string]*node) (n *node, given bool) {
	at := w.tape.find(v, name)
	if at >= 0 && w.tape.kind(at+1) == kindString {
		n = nodes[string(w.tape.content(at+1))]
	}
	return n, at >= 0
}

// tryAll tries the alternatives of a union one by one, and activates those that match if all is set. If none
// matches, it activates the one whose violations are reported.
func (w *walker) tryAll(u *union, v int, kind kinds, base int, all bool) {
	matches := 0
	for _, n := range u.alternatives {
		if matches > 0 && u.keyword == "anyOf" && !all {
			break
		}
		if w.matches(v, n) {
			matches++
			if all {
				w.activate(base, n)
			}
		}
	}
	switch {
	case matches == 1 || matches > 1 && u.keyword == "anyOf":
	case matches > 1:
		w.add(u.keyword, "must match one alternative of the document, and matches several")
	default:
		if likely := w.likely(u, v, kind); likely != nil && w.quiet == 0 {
			w.activate(base, likely)
			return
		}
		w.add(u.keyword, "must match an alternative of the document")
	}
}

// likely returns the alternative that the value was probably meant to match: the one that the discriminator
// names, or the only one of its type. It returns nil if there is none.
func (w *walker) likely(u *union, v int, kind kinds) (likely *node) {
	if n, _ := w.byMember(v, u.hint, u.byHint); n != nil {
		return n
	}
	for i, n := range u.alternatives {
		if !u.typesOf[i].allow(kind, nil) {
			continue
		}
		if likely != nil {
			return nil
		}
		likely = n
	}
	return likely
}

// union compiles a oneOf or anyOf.
func (c *compiler) union(s *scope, keyword string, schemas, discriminator *document.Node) *union {
	u := &union{keyword: keyword}
	if len(schemas.Elements) == 0 {
		c.fail(schemas, "must have a schema")
	}
	var alternatives []alternative
	for _, schema := range schemas.Elements {
		a := alternative{c.resolve(schema), c.schemaIn(s, schema), c.typesOf(schema)}
		u.alternatives, u.typesOf = append(u.alternatives, a.node), append(u.typesOf, a.types)
		alternatives = append(alternatives, a)
	}
	u.general = !c.nullable(u, schemas, alternatives) && !c.byType(u, alternatives) && !c.byMember(u, alternatives)
	if u.general && discriminator != nil {
		c.hint(u, discriminator, schemas.Elements)
	}
	return u
}

// hint sets the alternatives that the values of a discriminator name.
func (c *compiler) hint(u *union, discriminator *document.Node, schemas []*document.Node) {
	name := discriminator.Get("propertyName")
	if name == nil {
		return
	}
	u.hint, u.byHint = name.Text, make(map[string]*node)
	for i, schema := range schemas {
		ref := schema.Get("$ref")
		if ref == nil {
			continue
		}
		u.byHint[ref.Text[strings.LastIndexByte(ref.Text, '/')+1:]] = u.alternatives[i]
		for value, target := range discriminator.Get("mapping").All() {
			if c.mapped(target.Text) == c.targets[ref] || c.targets[target] == c.targets[ref] {
				u.byHint[value] = u.alternatives[i]
			}
		}
	}
}

// nullable compiles an anyOf of null and one other schema, which may itself allow null.
func (c *compiler) nullable(u *union, schemas *document.Node, alternatives []alternative) bool {
	if u.keyword != "anyOf" || len(alternatives) != 2 {
		return false
	}
	for i, a := range alternatives {
		if other := alternatives[1-i]; a.types == kindNull && isPlain(schemas.Elements[i], "type") {
			u.byType = []typed{{kindNull, nil}, {other.types, other.node}}
			if u.types = other.types; u.types != 0 {
				u.types |= kindNull
			}
			return true
		}
	}
	return false
}

// byType selects the alternative by the type of the value, if all alternatives have disjoint types.
func (c *compiler) byType(u *union, alternatives []alternative) bool {
	taken, byType := kinds(0), make([]typed, 0, len(alternatives))
	for _, a := range alternatives {
		types := a.types
		if types&(kindInteger|kindNumber) != 0 {
			types |= kindInteger | kindNumber
		}
		if len(alternatives) > 1 && (types == 0 || types&taken != 0) {
			return false
		}
		taken |= types
		u.types |= a.types
		byType = append(byType, typed{a.types, a.node})
	}
	u.byType = byType
	return true
}

// alternative is an alternative of a union. Its source is the target of its $ref.
type alternative struct {
	source *document.Node
	node   *node
	types  kinds
}

// constant returns the string that a required member of the alternative must equal.
func (c *compiler) constant(a alternative, name string) (string, bool) {
	required := a.source.Get("required")
	if required == nil || !slices.ContainsFunc(required.Elements, func(n *document.Node) bool { return n.Text == name }) {
		return "", false
	}
	value := c.resolve(a.source.Get("properties").Get(name)).Get("const")
	if value == nil || value.Kind != jsontext.KindString {
		return "", false
	}
	return value.Text, true
}

// byMember selects the alternative by a required member that has a different constant in each alternative.
// One further alternative may be null.
func (c *compiler) byMember(u *union, alternatives []alternative) bool {
	objects := alternatives[:0:0]
	var null []typed
	for _, a := range alternatives {
		switch a.types {
		case kindObject:
			objects = append(objects, a)
		case kindNull:
			null = append(null, typed{a.types, a.node})
		default:
			return false
		}
	}
	if len(objects) == 0 || len(null) > 1 {
		return false
	}
	for name := range objects[0].source.Get("properties").All() {
		byValue := make(map[string]*node)
		for _, a := range objects {
			if value, ok := c.constant(a, name); ok {
				byValue[value] = a.node
			}
		}
		if len(byValue) == len(objects) {
			u.by, u.byValue, u.byType = newMember(name), byValue, null
			u.types = kindObject
			if null != nil {
				u.types |= kindNull
			}
			for _, value := range slices.Sorted(maps.Keys(byValue)) {
				u.values += ", " + strconv.Quote(value)
			}
			u.values = strings.TrimPrefix(u.values, ", ")
			return true
		}
	}
	return false
}
