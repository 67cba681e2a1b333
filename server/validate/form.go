package validate

import (
	"errors"
	"net/url"
	"slices"
	"strings"

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
	object := schema.TextValue{Kind: schema.KindObject}
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
		object.Names = append(object.Names, field.name)
		object.Elements = append(object.Elements, schema.TextValue{Kind: schema.KindAny, Text: string(text)})
	}
	if err := f.addOthers(&object, pairs); err != nil {
		w.addDecodeError(&parameter{pointer: schema.AnyMember}, err)
		return nil
	}
	return f.shape.AppendJSON(nil, object, &w.Walker)
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
func (f *form) addOthers(object *schema.TextValue, pairs []pair) error {
	others := make(map[string]*schema.TextValue)
	var names []string
	for _, p := range pairs {
		if slices.ContainsFunc(f.fields, func(field *parameter) bool { return field.takes(p.name) }) {
			continue
		}
		text, err := (&serialization{unescape: url.QueryUnescape}).unescaped(p.value)
		if err != nil || strings.Contains(p.value, ";") {
			return errEscape
		}
		if others[p.name] == nil {
			others[p.name] = &schema.TextValue{Kind: schema.KindArray}
			names = append(names, p.name)
		}
		others[p.name].Elements = append(others[p.name].Elements, schema.StringValue(text))
	}
	for _, name := range names {
		value := *others[name]
		if len(value.Elements) == 1 {
			value = value.Elements[0]
		}
		if !value.IsUTF8() || !(schema.TextValue{Text: name}).IsUTF8() {
			return errUTF8
		}
		object.Names, object.Elements = append(object.Names, name), append(object.Elements, value)
	}
	return nil
}
