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

// tag is a member of an object that may tell the alternatives of a union apart.
type tag struct {
	object int64 // where it begins in the text
	name   string
}

// chooseByMember looks ahead in the object for the member that tells the alternatives apart.
func (w *walker) chooseByMember(u *union) *node {
	at := w.dec.InputOffset()
	at += int64(bytes.IndexByte(w.text[at:], '{'))
	if at >= w.aheadEnd {
		w.lookAhead(at, u.tags)
	}
	value, ok := w.tags[tag{at, u.by.name}]
	if !ok {
		if !w.aheadFailed { // else the walk fails, too, and nobody knows what is behind that
			w.addBelow(u.by.token, "required", "is required")
		}
		return nil
	}
	if n := u.byValue[string(unquoted(value))]; n != nil && value.Kind() == '"' {
		return n
	}
	w.addBelow(u.by.token, u.keyword, "must be one of "+u.values)
	return nil
}

// lookAhead collects the tags of the object at an offset and of all that it contains. If each of
// those were read ahead on its own, a text would be read once for each of its levels.
func (w *walker) lookAhead(at int64, names map[string]*member) {
	if w.tags == nil {
		w.tags = make(map[tag]jsontext.Value)
	}
	w.resetAhead(w.text[at:])
	_, err := w.collectTags(at, names)
	w.aheadFailed = err != nil
	w.aheadEnd = at + w.ahead.InputOffset()
	if err != nil {
		w.aheadEnd = int64(len(w.text))
	}
	w.work += int(w.ahead.InputOffset())
}

// collectTags reads a value of the text that begins at start. It returns those that are no
// containers.
func (w *walker) collectTags(start int64, names map[string]*member) (jsontext.Value, error) {
	kind := w.ahead.PeekKind()
	if kind != '{' && kind != '[' {
		value, err := w.ahead.ReadValue()
		end := start + w.ahead.InputOffset()
		return jsontext.Value(w.text[end-int64(len(value)) : end]), err
	}
	if _, err := w.ahead.ReadToken(); err != nil {
		return nil, err
	}
	if w.ahead.StackDepth() > MaxDepth {
		return nil, errTooDeep
	}
	at := start + w.ahead.InputOffset() - 1
	for next := w.ahead.PeekKind(); next != '}' && next != ']'; next = w.ahead.PeekKind() {
		var by *member
		if kind == '{' {
			name, err := w.ahead.ReadValue()
			if err != nil {
				return nil, err
			}
			by = names[string(unquoted(name))]
		}
		value, err := w.collectTags(start, names)
		if err != nil {
			return nil, err
		}
		if by != nil {
			w.tags[tag{at, by.name}] = value
		}
	}
	_, err := w.ahead.ReadToken()
	return nil, err
}

// union compiles a oneOf or anyOf.
func (c *compiler) union(at, keyword string, refs openapi3.SchemaRefs, d *openapi3.Discriminator) *union {
	u := &union{keyword: keyword, tags: c.tags}
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
	if u.by != nil {
		c.tags[u.by.name] = u.by
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
