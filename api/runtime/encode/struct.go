package encode

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"unsafe"
)

// object describes a struct.
type object struct {
	members []member
	others  *reflect.StructField // AdditionalProperties, or nil
	union   *reflect.StructField // the members of a union, or nil
	write   encoder              // of a member in others
}

// member describes a field of a struct.
type member struct {
	name, key string // the key is the name in JSON between a comma and a colon
	offset    uintptr
	omitNil   bool                      // whether the field is omitted if it is nil
	omitted   func(unsafe.Pointer) bool // whether the field is omitted, or nil
	write     encoder
}

func (p plan) newStruct(t reflect.Type, standard encoder) encoder {
	o := object{}
	if field, ok := t.FieldByName("AdditionalProperties"); ok && field.Type.Kind() == reflect.Map && field.Tag.Get("json") == "-" {
		o.others, o.write = &field, p.of(field.Type.Elem())
	}
	if field, ok := t.FieldByName("union"); ok && field.Type == reflect.TypeFor[json.RawMessage]() && t.NumField() > 1 {
		o.union, o.write = &field, p.of(field.Type)
	}
	open := o.others != nil || o.union != nil
	if marshals(t) && !open {
		return standard
	}
	for field := range t.Fields() {
		tag := field.Tag.Get("json")
		if tag == "-" || o.union != nil && field.Name == o.union.Name {
			continue
		}
		name, option, _ := strings.Cut(tag, ",")
		if name == "" {
			name = field.Name
		}
		if field.Anonymous || !field.IsExported() || !slices.Contains([]string{"", "omitempty", "omitzero"}, option) {
			return standard
		}
		key, _ := json.Marshal(name) // strings always marshal
		m := member{name: name, key: "," + string(key) + ":", offset: field.Offset, write: p.of(field.Type)}
		switch option {
		case "omitempty":
			m.omitNil, m.omitted = isEmpty(field.Type, open)
		case "omitzero":
			m.omitted = isZero(field.Type)
		}
		o.members = append(o.members, m)
	}
	if open {
		slices.SortFunc(o.members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	}
	return o.encode
}

// encode writes the members in the order of the fields, or sorted by name if the struct has other members.
func (o *object) encode(w *writer, at unsafe.Pointer) {
	var others reflect.Value
	var names []reflect.Value // of the others
	if o.others != nil || o.union != nil {
		others = o.othersOf(w, at)
		names = sortedNames(others)
	}
	start := len(w.text)
	for i := range o.members {
		m := &o.members[i]
		field := unsafe.Add(at, m.offset)
		if m.omitNil && isNil(field) || m.omitted != nil && m.omitted(field) {
			continue
		}
		for len(names) > 0 && names[0].String() <= m.name {
			if names[0].String() < m.name {
				writeMember(w, others, names[0], o.write)
			}
			names = names[1:]
		}
		w.text = append(w.text, m.key...)
		m.write(w, field)
	}
	for _, name := range names {
		writeMember(w, others, name, o.write)
	}
	w.enclose(start, '{', '}')
}

// othersOf returns the map with the other members of a struct.
func (o *object) othersOf(w *writer, at unsafe.Pointer) reflect.Value {
	var others reflect.Value
	if o.others != nil {
		others = reflect.NewAt(o.others.Type, unsafe.Add(at, o.others.Offset)).Elem()
	}
	if o.union == nil {
		return others
	}
	all := map[string]json.RawMessage{}
	if text := *(*json.RawMessage)(unsafe.Add(at, o.union.Offset)); text != nil {
		w.fail(json.Unmarshal(text, &all))
	}
	if o.others != nil {
		for name, value := range others.Seq2() {
			other := writer{depth: w.depth}
			other.value(value)
			w.fail(other.err)
			all[name.String()] = other.text
		}
	}
	return reflect.ValueOf(all)
}

// isEmpty returns the condition under which omitempty omits a field: that it is nil, or a function that is not nil. A
// struct with other members omits only nil.
func isEmpty(t reflect.Type, onlyNil bool) (omitNil bool, omitted func(unsafe.Pointer) bool) {
	switch t.Kind() {
	case reflect.Interface, reflect.Pointer:
		return true, nil
	case reflect.Slice, reflect.Map:
		if onlyNil {
			return true, nil
		}
		return false, func(at unsafe.Pointer) bool { return reflect.NewAt(t, at).Elem().Len() == 0 }
	case reflect.Struct, reflect.Array:
		return false, nil
	default:
		if onlyNil {
			return false, nil
		}
		return false, func(at unsafe.Pointer) bool { return reflect.NewAt(t, at).Elem().IsZero() }
	}
}

// isZero returns the condition under which omitzero omits a field.
func isZero(t reflect.Type) func(unsafe.Pointer) bool {
	return func(at unsafe.Pointer) bool {
		v := reflect.NewAt(t, at)
		if own, ok := reflect.TypeAssert[interface{ IsZero() bool }](v); ok {
			return own.IsZero()
		}
		return v.Elem().IsZero()
	}
}
