package validate

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/schema"
)

// form is a compiled application/x-www-form-urlencoded body.
type form struct {
	fields []*parameter // one for each property of the schema, sorted by name
	shape  *schema.Shape
}

// formJSON converts a form to JSON. If a field cannot be decoded, it reports a violation and returns nil.
func (w *checker) formJSON(f *form, body string) []byte {
	pairs := queryPairs(body)
	var all fields
	for _, field := range f.fields {
		text, err := w.readField(field, pairs)
		if errors.Is(err, errAbsent) {
			continue
		}
		if err == nil && !w.IsJSON(text) {
			err = errNotJSON
		}
		if err != nil {
			w.addDecodeError(field, err)
			return nil
		}
		all.add(field.name, schema.TextValue{Kind: schema.KindAny, Text: string(text)}, false)
	}
	if err := f.addOthers(&all, pairs); err != nil {
		w.addDecodeError(&parameter{pointer: schema.AnyMember}, err)
		return nil
	}
	return f.shape.AppendJSON(nil, all.object(), &w.Walker)
}

// readField returns the JSON of a field. It does not check the syntax of a field that is JSON itself.
func (w *checker) readField(field *parameter, pairs []pair) ([]byte, error) {
	if hasSemicolon(field, pairs) {
		return nil, errEscape
	}
	if field.elementsJSON {
		list, err := field.readPairs(pairs, schema.KindArray)
		if err != nil {
			return nil, err
		}
		for i, element := range list.Elements {
			if !w.IsJSON([]byte(element.Text)) {
				return nil, errNotJSON
			}
			list.Elements[i].Kind = schema.KindAny
		}
		return field.shape.AppendJSON(nil, list, &w.Walker), nil
	}
	return w.readJSON(field, func(as schema.Kinds) (schema.TextValue, error) { return field.readPairs(pairs, as) })
}

// addOthers adds the fields that are not properties of the schema.
func (f *form) addOthers(all *fields, pairs []pair) error {
	for _, p := range pairs {
		if slices.ContainsFunc(f.fields, func(field *parameter) bool { return field.takes(p.name) }) {
			continue
		}
		text, err := (&serialization{unescape: url.QueryUnescape}).unescaped(p.value)
		switch {
		case err != nil || strings.Contains(p.value, ";"):
			return errEscape
		case !utf8.ValidString(text) || !utf8.ValidString(p.name):
			return errUTF8
		}
		all.add(p.name, schema.StringValue(text), false)
	}
	return nil
}

// fields collects the members of an object that come one by one. The values of one name are an array.
type fields struct {
	names  []string
	values []schema.TextValue
	index  map[string]int // by name
}

// get returns the value of a name, or nil if it has none.
func (f *fields) get(name string) *schema.TextValue {
	if i, known := f.index[name]; known {
		return &f.values[i]
	}
	return nil
}

// add adds a value. The first of a name is an array if list is set.
func (f *fields) add(name string, value schema.TextValue, list bool) {
	switch known := f.get(name); {
	case known == nil:
		if f.index == nil {
			f.index = make(map[string]int)
		}
		f.index[name] = len(f.names)
		f.names, f.values = append(f.names, name), append(f.values, value)
		if list {
			f.values[len(f.values)-1] = schema.TextValue{Kind: schema.KindArray, Elements: []schema.TextValue{value}}
		}
	case known.Kind != schema.KindArray:
		*known = schema.TextValue{Kind: schema.KindArray, Elements: []schema.TextValue{*known, value}}
	default:
		known.Elements = append(known.Elements, value)
	}
}

func (f *fields) object() schema.TextValue {
	return schema.TextValue{Kind: schema.KindObject, Names: f.names, Elements: f.values}
}
