package schema

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// union is a oneOf or anyOf.
type union struct {
	keyword      string
	alternatives []alternative
	types        Kinds // types of all alternatives together

	// mustTry is set if the alternatives must be tried one by one. If none matches, meantBy is the name of the
	// discriminator, whose value selects the alternative whose violations are reported.
	mustTry bool
	meantBy string
	meant   map[string]*Node

	// byType is set if the type of a value selects the alternative. The first one that allows the type is
	// used.
	byType []alternative

	// by is set if the value of this member selects the alternative.
	by      *member
	byValue map[string]*Node
	values  string // the values of by, for error messages
}

// alternative is an alternative of a union.
type alternative struct {
	types Kinds // 0 allows all types
	node  *Node // nil allows all values
}

// choose returns the alternative that a value must match by its type or by a member. It may be nil.
func (w *Walker) choose(u *union, v int, kind Kinds) *Node {
	for _, a := range u.byType {
		if a.types.allow(kind, nil) {
			return a.node
		}
	}
	if u.by == nil || kind != KindObject {
		w.Add("type", "must be "+u.types.String())
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
func (w *Walker) byMember(v int, name string, nodes map[string]*Node) (n *Node, given bool) {
	at := w.tape.find(v, name)
	if at >= 0 && w.tape.kind(at+1) == KindString {
		n = nodes[string(w.tape.content(at+1))]
	}
	return n, at >= 0
}

// tryAll tries the alternatives of a union one by one, and activates those that match if all is set. If none
// matches, it activates the one whose violations are reported.
func (w *Walker) tryAll(u *union, v int, kind Kinds, base int, all bool) {
	matches := 0
	for _, a := range u.alternatives {
		if matches > 0 && u.keyword == "anyOf" && !all {
			break
		}
		if w.matches(v, a.node) {
			matches++
			if all {
				w.activate(base, a.node)
			}
		}
	}
	switch {
	case matches == 1 || matches > 1 && u.keyword == "anyOf":
	case matches > 1:
		w.Add(u.keyword, "must match one alternative of the document, and matches several")
	default:
		if likely := w.likely(u, v, kind); likely != nil && w.quiet == 0 {
			w.activate(base, likely)
			return
		}
		w.Add(u.keyword, "must match an alternative of the document")
	}
}

// likely returns the alternative that the value was probably meant to match: the one that the discriminator
// names, or the only one of its type. It returns nil if there is none.
func (w *Walker) likely(u *union, v int, kind Kinds) (likely *Node) {
	if n, _ := w.byMember(v, u.meantBy, u.meant); n != nil {
		return n
	}
	for _, a := range u.alternatives {
		if !a.types.allow(kind, nil) {
			continue
		}
		if likely != nil {
			return nil
		}
		likely = a.node
	}
	return likely
}

// union compiles a oneOf or anyOf.
func (c *Compiler) union(s *scope, keyword string, schemas, discriminator *document.Node) *union {
	u := &union{keyword: keyword}
	if len(schemas.Elements) == 0 {
		c.Fail(schemas, "must have a schema")
	}
	sources := make([]*document.Node, len(schemas.Elements)) // the targets of references
	for i, schema := range schemas.Elements {
		sources[i] = c.Resolve(schema)
		u.alternatives = append(u.alternatives, alternative{c.typesOf(schema), c.schemaIn(s, schema)})
	}
	u.mustTry = !u.selectNullable(schemas.Elements) && !u.selectByType() && !c.selectByMember(u, sources)
	switch {
	case !u.mustTry:
	case discriminator != nil:
		c.useDiscriminator(u, discriminator, schemas.Elements)
	case len(sources) > 0:
		c.findMember(u, sources)
	}
	return u
}

// findMember sets the alternatives that the values of a member name, if it has a different constant in each.
func (c *Compiler) findMember(u *union, sources []*document.Node) {
	for name := range sources[0].Get("properties").All() {
		meant := make(map[string]*Node)
		for i, source := range sources {
			if value, ok := c.constant(source, name); ok {
				meant[value] = u.alternatives[i].node
			}
		}
		if len(meant) == len(sources) {
			u.meantBy, u.meant = name, meant
			return
		}
	}
}

// useDiscriminator sets the alternatives that the values of a discriminator name.
func (c *Compiler) useDiscriminator(u *union, discriminator *document.Node, schemas []*document.Node) {
	name := discriminator.Get("propertyName")
	if name == nil {
		return
	}
	u.meantBy, u.meant = name.Text, make(map[string]*Node)
	for i, schema := range schemas {
		ref := schema.Get("$ref")
		if ref == nil {
			continue
		}
		u.meant[ref.Text[strings.LastIndexByte(ref.Text, '/')+1:]] = u.alternatives[i].node
		for value, target := range discriminator.Get("mapping").All() {
			if c.maps(target, ref) {
				u.meant[value] = u.alternatives[i].node
			}
		}
	}
}

// maps reports whether a discriminator maps to the target of a reference.
func (c *Compiler) maps(target, ref *document.Node) bool {
	return c.Mapped(target.Text) == c.Target(ref) || c.Target(target) == c.Target(ref)
}

// selectNullable selects between null and one other schema of an anyOf, which may itself allow null.
func (u *union) selectNullable(schemas []*document.Node) bool {
	if u.keyword != "anyOf" || len(schemas) != 2 {
		return false
	}
	for i, a := range u.alternatives {
		if other := u.alternatives[1-i]; a.types == KindNull && isPlain(schemas[i], "type") {
			u.byType = []alternative{{KindNull, nil}, other}
			if u.types = other.types; u.types != 0 {
				u.types |= KindNull
			}
			return true
		}
	}
	return false
}

// selectByType selects the alternative by the type of the value, if all alternatives have disjoint types.
func (u *union) selectByType() bool {
	var taken Kinds
	for _, a := range u.alternatives {
		types := a.types
		if types&(KindInteger|KindNumber) != 0 {
			types |= KindInteger | KindNumber
		}
		if len(u.alternatives) > 1 && (types == 0 || types&taken != 0) {
			return false
		}
		taken |= types
		u.types |= a.types
	}
	u.byType = u.alternatives
	return true
}

// selectByMember selects the alternative by a required member that has a different constant in each alternative.
// One further alternative may be null.
func (c *Compiler) selectByMember(u *union, sources []*document.Node) bool {
	var objects, null []alternative
	var objectSources []*document.Node
	for i, a := range u.alternatives {
		switch a.types {
		case KindObject:
			objects, objectSources = append(objects, a), append(objectSources, sources[i])
		case KindNull:
			null = append(null, a)
		default:
			return false
		}
	}
	if len(objects) == 0 || len(null) > 1 {
		return false
	}
	for name := range objectSources[0].Get("properties").All() {
		byValue := make(map[string]*Node)
		for i, a := range objects {
			if value, ok := c.constant(objectSources[i], name); ok && requires(objectSources[i], name) {
				byValue[value] = a.node
			}
		}
		if len(byValue) < len(objects) {
			continue
		}
		u.by, u.byValue, u.byType = newMember(name), byValue, null
		u.types = KindObject
		if null != nil {
			u.types |= KindNull
		}
		var values []string
		for _, value := range slices.Sorted(maps.Keys(byValue)) {
			values = append(values, strconv.Quote(value))
		}
		u.values = strings.Join(values, ", ")
		return true
	}
	return false
}

func requires(source *document.Node, name string) bool {
	required := source.Get("required")
	return required != nil && slices.ContainsFunc(required.Elements, func(n *document.Node) bool { return n.Text == name })
}

// constant returns the string that a member must equal.
func (c *Compiler) constant(source *document.Node, name string) (string, bool) {
	value := c.Resolve(source.Get("properties").Get(name)).Get("const")
	if value == nil || value.Kind != jsontext.KindString {
		return "", false
	}
	return value.Text, true
}
