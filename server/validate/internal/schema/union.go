package schema

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// union is a oneOf or anyOf. A value is checked against the only alternative that allows its type. If several do, they
// are tried one by one, unless a member decides between objects.
type union struct {
	keyword      string
	alternatives []alternative

	// by is the member whose value is that of one alternative, or nil. If it does not decide and no alternative
	// matches, the violations of the selected one are reported.
	by      *member
	byValue map[string]*Node
	decides bool // whether each alternative for objects requires the member
}

// alternative is an alternative of a union.
type alternative struct {
	types Kinds // 0 allows all types
	node  *Node // nil allows all values
}

// allowing returns the alternatives that allow a type.
func (u *union) allowing(kind Kinds) (first *Node, count int) {
	for _, a := range u.alternatives {
		if a.types.allow(kind, nil) {
			if count++; count == 1 {
				first = a.node
			}
		}
	}
	return first, count
}

// mustTry reports whether alternatives must be tried for values of a type.
func (u *union) mustTry(kind Kinds) bool {
	_, count := u.allowing(kind)
	return count > 1 && (kind != KindObject || !u.decides)
}

// branches reports whether alternatives must be tried for some values.
func (u *union) branches() bool {
	return slices.ContainsFunc([]Kinds{KindNull, KindBoolean, KindNumber, KindString, KindArray, KindObject}, u.mustTry)
}

// choose returns the alternative that a value must match, unless alternatives must be tried. It may be nil.
func (w *Walker) choose(u *union, v int, kind Kinds) *Node {
	first, count := u.allowing(kind)
	switch count {
	case 0:
		var types Kinds
		for _, a := range u.alternatives {
			types |= a.types
		}
		w.Add("type", "must be "+types.String())
		return nil
	case 1:
		return first
	}
	n, given := w.byMember(u, v)
	switch {
	case !given && !w.tape.isOpen(v): // otherwise the member may be in the text that is missing
		w.addBelow(u.by.token, "required", "is required")
	case given && n == nil:
		w.addBelow(u.by.token, u.keyword, "must be one of "+quoted(u.byValue))
	}
	return n
}

func quoted(byValue map[string]*Node) string {
	values := slices.Sorted(maps.Keys(byValue))
	for i, value := range values {
		values[i] = strconv.Quote(value)
	}
	return strings.Join(values, ", ")
}

// byMember returns the alternative that the member by of an object selects, and whether the object has that member.
func (w *Walker) byMember(u *union, v int) (n *Node, given bool) {
	if u.by == nil {
		return nil, false
	}
	at := w.tape.find(v, u.by.name)
	if at >= 0 && w.tape.kind(at+1) == KindString {
		n = u.byValue[string(w.tape.content(at+1))]
	}
	return n, at >= 0
}

// tryAll tries the alternatives of a union one by one, and activates those that match if all is set. If none matches,
// it activates the one that a member selects, for its violations.
func (w *Walker) tryAll(u *union, v, base int, all bool) {
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
		if likely, _ := w.byMember(u, v); likely != nil && w.quiet == 0 {
			w.activate(base, likely)
			return
		}
		w.Add(u.keyword, "must match an alternative of the document")
	}
}

// union compiles a oneOf or anyOf.
func (c *Compiler) union(s *scope, keyword string, schemas, discriminator *document.Node) *union {
	u := &union{keyword: keyword}
	if len(schemas.Elements) == 0 {
		c.Fail(schemas, "must have a schema")
	}
	var objects []alternative
	var sources []*document.Node // of objects, and not in the union, which would keep the whole document in memory
	for _, schema := range schemas.Elements {
		a := alternative{c.typesOf(schema), c.schemaIn(s, schema)}
		u.alternatives = append(u.alternatives, a)
		if a.types.allow(KindObject, nil) {
			objects, sources = append(objects, a), append(sources, c.Resolve(schema))
		}
	}
	if len(objects) > 1 {
		c.useConstant(u, objects, sources)
		if discriminator != nil && !u.decides {
			c.useDiscriminator(u, discriminator, schemas.Elements)
		}
	}
	return u
}

// useConstant selects between objects by a member that has a different constant in each, if there is one. It prefers a
// member that all of them require.
func (c *Compiler) useConstant(u *union, objects []alternative, sources []*document.Node) {
	for name := range sources[0].Get("properties").All() {
		byValue, optional := make(map[string]*Node), false
		for i, source := range sources {
			value := c.Resolve(source.Get("properties").Get(name)).Get("const")
			if value != nil && value.Kind == jsontext.KindString {
				byValue[value.Text] = objects[i].node
			}
			optional = optional || !requires(source, name)
		}
		if len(byValue) == len(objects) && !u.decides && (u.by == nil || !optional) {
			u.by, u.byValue, u.decides = newMember(name), byValue, !optional
		}
	}
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
