package validate

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json/jsontext"
)

// choose returns the alternative that a value must match, which may be none. The decoder stands
// before the value, whose kind it has peeked.
func (w *walker) choose(u *union, kind jsontext.Kind) *node {
	if kind == 'n' && u.null {
		return nil
	}
	types := kindObject
	if u.by == nil {
		types = u.only.types
	}
	if !types.allow(kind, nil) {
		if u.null {
			types |= kindNull
		}
		w.add("type", "must be "+types.String())
		return nil
	}
	if u.by == nil {
		return u.only
	}
	return w.chooseByMember(u)
}

// chooseByMember looks ahead in the object for the member that tells the alternatives apart.
func (w *walker) chooseByMember(u *union) *node {
	rest := w.text[w.dec.InputOffset():]
	rest = rest[bytes.IndexByte(rest, '{'):]
	dec := jsontext.NewDecoder(bytes.NewBuffer(rest))
	if _, err := dec.ReadToken(); err != nil {
		return nil
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadValue()
		if err != nil {
			return nil
		}
		if string(unquoted(name)) != u.by.name {
			if dec.SkipValue() != nil {
				return nil
			}
			continue
		}
		value, err := dec.ReadValue()
		if err != nil {
			return nil
		}
		if n := u.byValue[string(unquoted(value))]; n != nil && value.Kind() == '"' {
			return n
		}
		w.addBelow(u.by.token, u.keyword, "must be one of "+u.values)
		return nil
	}
	w.addBelow(u.by.token, "required", "is required")
	return nil
}

// union compiles a oneOf or anyOf.
func (c *compiler) union(at, keyword string, refs openapi3.SchemaRefs, d *openapi3.Discriminator) *union {
	u := &union{keyword: keyword}
	at += "/" + keyword
	var alternatives []alternative
	for i, ref := range refs {
		n := c.schema(at+"/"+strconv.Itoa(i), ref)
		switch {
		case n == nil: // has been reported
		case n.types == kindNull && n.enum == nil && len(n.allOf)+len(n.unions) == 0 && !u.null:
			u.null = true
		default:
			alternatives = append(alternatives, alternative{ref: ref, node: n})
		}
	}
	switch {
	case len(alternatives) == 0:
		c.fail(at, "must have an alternative besides null")
	case d != nil:
		c.discriminate(at, u, alternatives, d)
	case len(alternatives) > 1:
		c.tellApart(at, u, alternatives)
	default:
		u.only = alternatives[0].node
		if u.null && keyword == "oneOf" && (u.only.types == 0 || u.only.types&kindNull != 0) {
			c.fail(at, "must not allow null in two alternatives")
		}
	}
	for _, value := range slices.Sorted(maps.Keys(u.byValue)) {
		u.values += ", " + strconv.Quote(value)
	}
	u.values = strings.TrimPrefix(u.values, ", ")
	return u
}

// alternative is an object that a union may be.
type alternative struct {
	ref  *openapi3.SchemaRef
	node *node
}

// requires reports whether the alternative is an object that has the member. It looks at the
// schema, for the node may not be complete yet.
func (a alternative) requires(name string) bool {
	s := a.ref.Value
	return s.Type.Is(openapi3.TypeObject) && slices.Contains(s.Required, name) && s.Properties[name] != nil
}

// tellApart finds a required member that has another constant in each alternative.
func (c *compiler) tellApart(at string, u *union, alternatives []alternative) {
	for _, name := range slices.Sorted(maps.Keys(alternatives[0].ref.Value.Properties)) {
		u.byValue = make(map[string]*node)
		for _, a := range alternatives {
			if !a.requires(name) || a.ref.Value.Properties[name].Value == nil {
				break
			}
			if value, ok := a.ref.Value.Properties[name].Value.Const.(string); ok {
				u.byValue[value] = a.node
			}
		}
		if len(u.byValue) == len(alternatives) {
			u.by = newMember(name)
			return
		}
	}
	c.fail(at, "has alternatives that no required constant member tells apart")
}

// discriminate tells the alternatives apart by what the discriminator says.
func (c *compiler) discriminate(at string, u *union, alternatives []alternative, d *openapi3.Discriminator) {
	u.byValue = make(map[string]*node)
	byRef := make(map[string]*node)
	for _, a := range alternatives {
		if a.ref.Ref == "" || !a.requires(d.PropertyName) {
			c.fail(at, "must refer to objects that require the member %s", d.PropertyName)
			return
		}
		byRef[a.ref.Ref] = a.node
	}
	mapped := make(map[string]bool)
	for value, target := range d.Mapping {
		ref := target.Ref
		if !strings.Contains(ref, "/") {
			ref = "#/components/schemas/" + ref
		}
		if byRef[ref] == nil {
			c.fail(at, "has a discriminator with a mapping to what is no alternative: %s", target.Ref)
			return
		}
		u.byValue[value] = byRef[ref]
		mapped[ref] = true
	}
	for ref, n := range byRef {
		if !mapped[ref] {
			u.byValue[ref[strings.LastIndexByte(ref, '/')+1:]] = n
		}
	}
	u.by = newMember(d.PropertyName)
}
