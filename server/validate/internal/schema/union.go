package schema

import (
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// union is a oneOf or anyOf. A value is checked against the only alternative that allows its type. If several do, they
// are tried one by one, unless a member decides between objects.
type union struct {
	keyword      string
	alternatives []*Node // nil allows all values
	allowing     [9]some // the alternatives that allow a type, by the position of its bit

	// by is the member whose value is that of one alternative, or nil. If it does not decide and no alternative
	// matches, the violations of the selected one are reported.
	by      *member
	byValue map[string]*Node // by the value in canonical form
	decides bool             // whether each alternative for objects requires the member in all directions
	values  string           // of a member that decides, for error messages
}

// some says how many alternatives there are, and which is the first.
type some struct {
	first *Node
	count int
}

// of returns the alternatives that allow a type.
func (u *union) of(kind Kinds) some { return u.allowing[bits.TrailingZeros8(uint8(kind))] }

// mustTry reports whether alternatives must be tried for values of a type.
func (u *union) mustTry(kind Kinds) bool {
	return u.of(kind).count > 1 && (kind != KindObject || !u.decides)
}

// branches reports whether alternatives must be tried for some values.
func (u *union) branches() bool {
	return slices.ContainsFunc([]Kinds{KindNull, KindBoolean, KindNumber, KindString, KindArray, KindObject}, u.mustTry)
}

// choose returns the alternative that a value must match, unless alternatives must be tried. It may be nil.
func (w *Walker) choose(u *union, v int, kind Kinds) *Node {
	switch allowing := u.of(kind); allowing.count {
	case 0:
		var types Kinds
		for _, a := range u.alternatives {
			types |= a.anyTypes()
		}
		w.Add("type", "must be "+types.String())
		return nil
	case 1:
		return allowing.first
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
	if u.by == nil {
		return nil, false
	}
	at := w.tape.find(v, u.by.name)
	if at >= 0 && !w.tape.isContainer(at+1) {
		w.scratch = appendScalar(w.scratch[:0], w.tape.kind(at+1), w.tape.content(at+1))
		n = u.byValue[string(w.scratch)]
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
		if w.matchesBeside(v, a, w.first(base)) {
			matches++
			if all {
				w.activate(base, a)
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
	for _, schema := range schemas.Elements {
		u.alternatives = append(u.alternatives, c.schemaIn(s, schema))
	}
	if discriminator != nil {
		c.useDiscriminator(u, discriminator, schemas.Elements)
	}
	c.WhenCompiled(u.useTypes)
	c.WhenCompiled(u.useConstant)
	return u
}

// useTypes finds the alternatives for each type.
func (u *union) useTypes() {
	for _, a := range slices.Backward(u.alternatives) {
		types := a.anyTypes()
		for i := range u.allowing {
			if types.allow(1<<i, nil) {
				u.allowing[i] = some{a, u.allowing[i].count + 1}
			}
		}
	}
}

// useConstant selects between objects by a member that has a different constant in each, if there is one. It prefers a
// member that all of them require to any other.
func (u *union) useConstant() {
	objects := slices.DeleteFunc(slices.Clone(u.alternatives), func(n *Node) bool { return !n.anyTypes().allow(KindObject, nil) })
	if len(objects) < 2 || slices.Contains(objects, nil) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(objects[0].members)) {
		byValue, optional := make(map[string]*Node), false
		var texts []string
		for _, n := range objects {
			m := n.members[name]
			constant := m.constant()
			if constant == nil {
				break
			}
			for value := range constant.values {
				byValue[value] = n
			}
			texts = append(texts, strings.TrimPrefix(constant.detail, "must be "))
			optional = optional || m.index < 0 || m.node.unsent() != 0
		}
		if len(byValue) == len(objects) && (u.by == nil || !optional && !u.decides) {
			slices.Sort(texts)
			u.by, u.byValue, u.decides, u.values = objects[0].members[name], byValue, !optional, strings.Join(texts, ", ")
		}
	}
}

// constant returns the only value of a member, which is a scalar, or nil.
func (m *member) constant() *literal {
	if m == nil || m.node == nil || len(m.node.literals) == 0 || len(m.node.literals[0].values) != 1 || m.node.literals[0].depth > 0 {
		return nil
	}
	return m.node.literals[0]
}

// useDiscriminator selects the alternatives by a discriminator.
func (c *Compiler) useDiscriminator(u *union, discriminator *document.Node, schemas []*document.Node) {
	name := discriminator.Get("propertyName")
	if name == nil {
		return
	}
	u.by, u.byValue = newMember(name.Text), make(map[string]*Node)
	add := func(value string, n *Node) { u.byValue[string(appendScalar(nil, KindString, []byte(value)))] = n }
	for i, schema := range schemas {
		ref := schema.Get("$ref")
		if ref == nil {
			continue
		}
		add(ref.Text[strings.LastIndexByte(ref.Text, '/')+1:], u.alternatives[i])
		for value, target := range discriminator.Get("mapping").All() {
			if to := c.Target(ref); c.Mapped(target.Text) == to || c.Target(target) == to {
				add(value, u.alternatives[i])
			}
		}
	}
}
