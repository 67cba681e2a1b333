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

	// mustTry is set if the alternatives must be tried one by one. Otherwise the first of byType that allows the type
	// of a value is used, and if there is none, by selects the alternative.
	mustTry bool
	byType  []alternative

	// by is the member whose value is that of one alternative, or nil. If the alternatives must be tried and none
	// matches, the violations of the selected one are reported.
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
	n, given := w.byMember(u, v)
	switch {
	case !given && !w.tape.isOpen(v): // otherwise the member may be in the text that is missing
		w.addBelow(u.by.token, "required", "is required")
	case given && n == nil:
		w.addBelow(u.by.token, u.keyword, "must be one of "+u.values)
	}
	return n
}

// byMember returns the alternative that the member by of an object selects, and whether the object has that member.
func (w *Walker) byMember(u *union, v int) (n *Node, given bool) {
	at := w.tape.find(v, u.by.name)
	if at >= 0 && w.tape.kind(at+1) == KindString {
		n = u.byValue[string(w.tape.content(at+1))]
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
		if w.matchesBeside(v, a.node, w.first(base)) {
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

// likely returns the alternative that the value was probably meant to match: the one that a member selects, or the only
// one of its type. It returns nil if there is none.
func (w *Walker) likely(u *union, v int, kind Kinds) (likely *Node) {
	if u.by != nil {
		if n, _ := w.byMember(u, v); n != nil {
			return n
		}
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
	var sources []*document.Node // not in the union, which would keep the whole document in memory
	for _, schema := range schemas.Elements {
		u.alternatives = append(u.alternatives, alternative{c.typesOf(schema), c.schemaIn(s, schema)})
		sources = append(sources, c.Resolve(schema))
	}
	u.mustTry = !u.selectNullable(schemas.Elements) && !u.selectByType() && !c.selectByMember(u, sources)
	switch {
	case !u.mustTry:
	case discriminator != nil:
		c.useDiscriminator(u, discriminator, schemas.Elements)
	default:
		u.by, u.byValue = c.byConstant(u.alternatives, sources, false)
	}
	return u
}

// byConstant returns the first member that has a different constant in each alternative, and the alternatives by these
// constants. If required is set, each alternative must require the member.
func (c *Compiler) byConstant(alternatives []alternative, sources []*document.Node, required bool) (by *member, byValue map[string]*Node) {
	for name := range sources[0].Get("properties").All() {
		byValue := make(map[string]*Node)
		for i, source := range sources {
			value := c.Resolve(source.Get("properties").Get(name)).Get("const")
			if value != nil && value.Kind == jsontext.KindString && (!required || requires(source, name)) {
				byValue[value.Text] = alternatives[i].node
			}
		}
		if len(byValue) == len(alternatives) {
			return newMember(name), byValue
		}
	}
	return nil, nil
}

func requires(source *document.Node, name string) bool {
	required := source.Get("required")
	return required != nil && slices.ContainsFunc(required.Elements, func(n *document.Node) bool { return n.Text == name })
}

// useDiscriminator selects the alternatives by a discriminator.
func (c *Compiler) useDiscriminator(u *union, discriminator *document.Node, schemas []*document.Node) {
	name := discriminator.Get("propertyName")
	if name == nil {
		return
	}
	u.by, u.byValue = newMember(name.Text), make(map[string]*Node)
	for i, schema := range schemas {
		ref := schema.Get("$ref")
		if ref == nil {
			continue
		}
		u.byValue[ref.Text[strings.LastIndexByte(ref.Text, '/')+1:]] = u.alternatives[i].node
		for value, target := range discriminator.Get("mapping").All() {
			if c.maps(target, ref) {
				u.byValue[value] = u.alternatives[i].node
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
			u.byType = []alternative{{types: KindNull}, other}
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
	var ofObjects []*document.Node
	for i, a := range u.alternatives {
		switch a.types {
		case KindObject:
			objects, ofObjects = append(objects, a), append(ofObjects, sources[i])
		case KindNull:
			null = append(null, a)
		default:
			return false
		}
	}
	if len(objects) == 0 || len(null) > 1 {
		return false
	}
	if u.by, u.byValue = c.byConstant(objects, ofObjects, true); u.by == nil {
		return false
	}
	u.byType, u.types = null, KindObject
	if null != nil {
		u.types |= KindNull
	}
	values := slices.Sorted(maps.Keys(u.byValue))
	for i, value := range values {
		values[i] = strconv.Quote(value)
	}
	u.values = strings.Join(values, ", ")
	return true
}
