package validate

import (
	"errors"
	"net/url"
	"slices"
	"strings"
)

// form is a compiled application/x-www-form-urlencoded body or query.
type form struct {
	root   string       // prefix of all pointers: the parameter, or "" for a body
	fields []*parameter // one for each property of the schema, sorted by name
	shape  *shape
}

// formJSON converts a form to JSON. If a field cannot be decoded, it reports a violation and returns nil.
func (w *checker) formJSON(f *form, body string) []byte {
	pairs := queryPairs(body)
	object := textValue{kind: kindObject}
	for _, field := range f.fields {
		text, err := w.readField(field, pairs)
		if errors.Is(err, errAbsent) {
			continue
		}
		if err == nil && !w.isJSON(text) {
			err = errNotJSON
		}
		if err != nil {
			w.addDecodeError(field, err)
			return nil
		}
		object.names = append(object.names, field.name)
		object.elements = append(object.elements, textValue{kind: kindAny, text: string(text)})
	}
	if err := f.addOthers(&object, pairs); err != nil {
		w.addDecodeError(&parameter{pointer: f.root + anyMember}, err)
		return nil
	}
	return f.shape.appendJSON(nil, object, w.walker)
}

// readField returns the JSON of a field. It does not check the syntax of a field that is JSON itself.
func (w *checker) readField(field *parameter, pairs []pair) ([]byte, error) {
	if hasSemicolon(field, pairs) {
		return nil, errEscape
	}
	if field.elementsJSON {
		list, err := field.readPairs(pairs, kindArray)
		if err != nil {
			return nil, err
		}
		for i, element := range list.elements {
			if !w.isJSON([]byte(element.text)) {
				return nil, errNotJSON
			}
			list.elements[i].kind = kindAny
		}
		return field.shape.appendJSON(nil, list, w.walker), nil
	}
	return w.readJSON(field, func(as kinds) (textValue, error) { return field.readPairs(pairs, as) })
}

// addOthers adds the fields that are not properties of the schema.
func (f *form) addOthers(object *textValue, pairs []pair) error {
	others := make(map[string]*textValue)
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
			others[p.name] = &textValue{kind: kindArray}
			names = append(names, p.name)
		}
		others[p.name].elements = append(others[p.name].elements, stringValue(text))
	}
	for _, name := range names {
		value := *others[name]
		if len(value.elements) == 1 {
			value = value.elements[0]
		}
		if !value.isUTF8() || !(textValue{text: name}).isUTF8() {
			return errUTF8
		}
		object.names, object.elements = append(object.names, name), append(object.elements, value)
	}
	return nil
}
