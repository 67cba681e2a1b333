package validate

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// form says how the members of an object are in application/x-www-form-urlencoded.
type form struct {
	fields []*parameter // one for each name that the schema knows, sorted
	shape  *shape
}

// formJSON returns the JSON of a form, or nil when it has reported why a field cannot be read.
func (w *walker) formJSON(f *form, body string) []byte {
	pairs := queryPairs(body)
	object := spelled{kind: kindObject}
	for _, field := range f.fields {
		text, err := w.readField(field, pairs)
		if errors.Is(err, errAbsent) {
			continue
		}
		if err == nil && !jsontext.Value(text).IsValid() {
			err = errNotJSON
		}
		if err != nil {
			w.addFault(field, err)
			return nil
		}
		object.names = append(object.names, field.name)
		object.elements = append(object.elements, spelled{kind: kindAny, text: string(text)})
	}
	if err := f.addOthers(&object, pairs); err != nil {
		w.addFault(&parameter{pointer: anyMember}, err)
		return nil
	}
	return f.shape.appendJSON(nil, object, w)
}

// readField returns the JSON of a field, which is not checked when the field is JSON.
func (w *walker) readField(field *parameter, pairs []pair) ([]byte, error) {
	if hasSemicolon(field, pairs) {
		return nil, errEscape
	}
	if field.orJSON && slices.ContainsFunc(pairs, func(p pair) bool { return p.name == field.name }) {
		bare := *field
		bare.style, bare.explode, bare.json = styleForm, false, true
		field = &bare
	}
	return w.readJSON(field, func(as kinds) (spelled, error) {
		v, present, err := field.readPairs(pairs, as, field.shape, field.takes)
		if !present {
			return v, errAbsent
		}
		return v, err
	})
}

// addOthers adds the fields that the schema does not name.
func (f *form) addOthers(object *spelled, pairs []pair) error {
	known := func(name string) bool {
		for _, field := range f.fields {
			if rest, ok := strings.CutPrefix(name, field.name); ok && (rest == "" || rest[0] == '[') ||
				field.explode && field.readsMembers() && field.shape.members[name] != nil {
				return true
			}
		}
		return false
	}
	others := make(map[string]*spelled)
	var names []string
	for _, p := range pairs {
		if known(p.name) {
			continue
		}
		text, err := (&serialization{unescape: url.QueryUnescape}).unescaped(p.value)
		if err != nil || strings.Contains(p.value, ";") {
			return errEscape
		}
		if others[p.name] == nil {
			others[p.name] = &spelled{kind: kindArray}
			names = append(names, p.name)
		}
		others[p.name].elements = append(others[p.name].elements, spelled{kind: kindString, text: text})
	}
	for _, name := range names {
		value := *others[name]
		if len(value.elements) == 1 {
			value = value.elements[0]
		}
		if !value.isUTF8() || !(spelled{text: name}).isUTF8() {
			return errUTF8
		}
		object.names, object.elements = append(object.names, name), append(object.elements, value)
	}
	return nil
}
