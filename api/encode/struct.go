package encode

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
)

// maxDepth is the depth of structs in structs above which a value is taken for one that contains itself.
const maxDepth = 1000

var errCycle = errors.New("encode: the value contains itself")

// object describes a struct.
type object struct {
	members []member
	others  int     // index of the field AdditionalProperties, or -1
	union   int     // index of the field with the members of a union, or -1
	write   encoder // of a member in others
}

// member describes a field of a struct.
type member struct {
	name, key string // the key is the name in JSON with a colon
	index     int    // of the field
	optional  bool   // the field is a pointer, and omitted if it is nil
	omitted   func(reflect.Value) bool
	write     encoder // of the value, or of the pointer's value if it is optional
}

func (p plan) newStruct(t reflect.Type) encoder {
	o := object{others: -1, union: -1}
	if field, ok := t.FieldByName("AdditionalProperties"); ok && field.Type.Kind() == reflect.Map && field.Tag.Get("json") == "-" {
		o.others, o.write = field.Index[0], p.of(field.Type.Elem())
	}
	if field, ok := t.FieldByName("union"); ok && field.Type == reflect.TypeFor[json.RawMessage]() && t.NumField() > 1 {
		o.union, o.write = field.Index[0], writeStandard
	}
	open := o.others >= 0 || o.union >= 0
	if marshals(t) && !open {
		return writeStandard
	}
	for i := range t.NumField() {
		field := t.Field(i)
		tag := field.Tag.Get("json")
		if tag == "-" || i == o.union {
			continue
		}
		name, option, _ := strings.Cut(tag, ",")
		if name == "" {
			name = field.Name
		}
		if field.Anonymous || !field.IsExported() || !slices.Contains([]string{"", "omitempty", "omitzero"}, option) {
			return writeStandard
		}
		key, _ := json.Marshal(name) // strings always marshal
		m := member{name: name, key: string(key) + ":", index: i, write: p.of(field.Type)}
		switch {
		case option == "omitempty" && field.Type.Kind() == reflect.Pointer:
			m.optional, m.write = true, p.of(field.Type.Elem())
		case option == "omitempty":
			m.omitted = isEmpty(field.Type, open)
		case option == "omitzero":
			m.omitted = isZero
		}
		o.members = append(o.members, m)
	}
	if open {
		slices.SortFunc(o.members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	}
	return o.encode
}

// encode writes the members in the order of the fields, or sorted by name if the struct has other members.
func (o *object) encode(w *writer, v reflect.Value) {
	if w.depth++; w.depth > maxDepth {
		w.fail(errCycle)
		return
	}
	var others reflect.Value
	var names []reflect.Value // of the others
	if o.others >= 0 || o.union >= 0 {
		others = o.othersOf(w, v)
		names = sortedNames(others)
	}
	w.text = append(w.text, '{')
	for i := range o.members {
		m := &o.members[i]
		value := v.Field(m.index)
		if m.optional && value.IsNil() || m.omitted != nil && m.omitted(value) {
			continue
		}
		if m.optional {
			value = value.Elem()
		}
		for len(names) > 0 && names[0].String() <= m.name {
			if names[0].String() < m.name {
				writeMember(w, others, names[0], o.write)
			}
			names = names[1:]
		}
		w.comma('{')
		w.text = append(w.text, m.key...)
		m.write(w, value)
	}
	for _, name := range names {
		writeMember(w, others, name, o.write)
	}
	w.text = append(w.text, '}')
	w.depth--
}

// othersOf returns the map with the other members of a struct.
func (o *object) othersOf(w *writer, v reflect.Value) reflect.Value {
	if o.union < 0 {
		return v.Field(o.others)
	}
	all := map[string]json.RawMessage{}
	if text := v.Field(o.union).Bytes(); text != nil {
		w.fail(json.Unmarshal(text, &all))
	}
	if o.others >= 0 {
		for name, value := range v.Field(o.others).Seq2() {
			text, err := JSON(value.Interface())
			w.fail(err)
			all[name.String()] = text
		}
	}
	return reflect.ValueOf(all)
}

// isEmpty returns the condition under which omitempty omits a field, or nil. A struct with other members omits only nil.
func isEmpty(t reflect.Type, onlyNil bool) func(reflect.Value) bool {
	switch t.Kind() {
	case reflect.Interface:
		return reflect.Value.IsNil
	case reflect.Slice, reflect.Map:
		if onlyNil {
			return reflect.Value.IsNil
		}
		return func(v reflect.Value) bool { return v.Len() == 0 }
	case reflect.Struct, reflect.Array:
		return nil
	default:
		if onlyNil {
			return nil
		}
		return reflect.Value.IsZero
	}
}

// isZero reports whether omitzero omits a field.
func isZero(v reflect.Value) bool {
	if own, ok := pointerTo(v).(interface{ IsZero() bool }); ok {
		return own.IsZero()
	}
	return v.IsZero()
}
