package validate

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// choose returns the alternative that a value must match, which may be nil. It must be called before the
// value is read.
func (w *walker) choose(u *union, kind jsontext.Kind) *node {
	for _, alternative := range u.byType {
		if alternative.types.allow(kind, nil) {
			return alternative.node
		}
	}
	if u.by != nil && kind == '{' {
		return w.chooseByMember(u)
	}
	w.add("type", "must be "+u.types.String())
	return nil
}

// tag identifies a member of an object that may select the alternative of a union.
type tag struct {
	object int64 // offset of the object in the text
	name   string
}

// chooseByMember reads ahead in the object to the member that selects the alternative.
func (w *walker) chooseByMember(u *union) *node {
	at := w.tokens.InputOffset()
	at += int64(bytes.IndexByte(w.text[at:], '{'))
	if at >= w.aheadEnd {
		w.lookAhead(at, u.tags)
	}
	value, ok := w.tags[tag{at, u.by.name}]
	if !ok {
		if !w.aheadFailed { // after a syntax error the walk fails too, and the member may exist
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

// lookAhead collects the tags of the object at an offset and of everything nested in it. Looking ahead for
// each nested object separately would read a text once for each level of nesting.
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

// collectTags reads a value from the text that begins at start. It returns the value if it is a scalar.
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
	if w.ahead.StackDepth() > w.limits.depth {
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
func (c *compiler) union(s *scope, keyword string, schemas, discriminator *document.Node) *union {
	u := &union{keyword: keyword, tags: c.tags}
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
	if value == nil || value.Kind != '"' {
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
			c.tags[name] = u.by
			for _, value := range slices.Sorted(maps.Keys(byValue)) {
				u.values += ", " + strconv.Quote(value)
			}
			u.values = strings.TrimPrefix(u.values, ", ")
			return true
		}
	}
	return false
}
