package encode

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// encoder writes the value of one type at an address. The addresses of fields and elements are computed, because
// package reflect takes half of the time to encode a response.
type encoder func(w *writer, at unsafe.Pointer)

// kind is what is known about a type.
type kind struct {
	write     encoder
	responses sync.Pool // of *response[T]
}

var kinds sync.Map //nolint:gochecknoglobals // a cache: *kind by reflect.Type

func kindOf(t reflect.Type) *kind {
	known, ok := kinds.Load(t)
	if !ok {
		known, _ = kinds.LoadOrStore(t, &kind{write: plan{}.of(t)})
	}
	return known.(*kind) //nolint:forcetypeassert // the map has nothing else
}

// plan contains the encoders of a type and of the types in it. The encoder of a type that is not planned yet is nil.
type plan map[reflect.Type]*encoder

func (p plan) of(t reflect.Type) encoder {
	if e := p[t]; e != nil && *e == nil { // t contains itself
		return func(w *writer, at unsafe.Pointer) { w.nested(*e, at) }
	} else if e != nil {
		return *e
	}
	e := new(encoder)
	p[t] = e
	*e = p.newEncoder(t)
	return *e
}

func (p plan) newEncoder(t reflect.Type) encoder {
	standard := func(w *writer, at unsafe.Pointer) { w.standard(reflect.NewAt(t, at).Interface()) }
	switch {
	case t.Kind() == reflect.Pointer:
		return p.newPointer(t)
	case t == reflect.TypeFor[time.Time]():
		return writeTime
	case t.Implements(reflect.TypeFor[Wrapper]()):
		return func(w *writer, at unsafe.Pointer) {
			wrapper, _ := reflect.TypeAssert[Wrapper](reflect.NewAt(t, at))
			w.value(reflect.ValueOf(wrapper.JSONValue()))
		}
	case t.Kind() == reflect.Struct:
		return p.newStruct(t, standard)
	case marshals(t), t == reflect.TypeFor[json.Number]():
		return standard
	}
	switch t.Kind() {
	case reflect.String:
		return func(w *writer, at unsafe.Pointer) { w.string(*(*string)(at)) }
	case reflect.Bool:
		return func(w *writer, at unsafe.Pointer) { w.text = strconv.AppendBool(w.text, *(*bool)(at)) }
	case reflect.Int:
		return func(w *writer, at unsafe.Pointer) { w.text = strconv.AppendInt(w.text, int64(*(*int)(at)), 10) }
	case reflect.Int64:
		return func(w *writer, at unsafe.Pointer) { w.text = strconv.AppendInt(w.text, *(*int64)(at), 10) }
	case reflect.Float64:
		return func(w *writer, at unsafe.Pointer) { w.float(*(*float64)(at)) }
	case reflect.Interface:
		return func(w *writer, at unsafe.Pointer) { w.value(reflect.NewAt(t, at).Elem().Elem()) }
	case reflect.Slice:
		return p.newSlice(t, standard)
	case reflect.Map:
		if t.Key().Kind() == reflect.String && !marshals(t.Key()) {
			return p.newMap(t)
		}
	default:
	}
	return standard
}

// marshals reports whether encoding/json calls a method of a type.
func marshals(t reflect.Type) bool {
	pointer := reflect.PointerTo(t)
	return pointer.Implements(reflect.TypeFor[json.Marshaler]()) || pointer.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

func writeTime(w *writer, at unsafe.Pointer) {
	text, err := (*time.Time)(at).AppendText(append(w.text, '"'))
	if err != nil {
		w.fail(err)
		return
	}
	w.text = append(text, '"')
}

// isNil reports whether the pointer, slice, map or interface at an address is nil: its first word is a pointer.
func isNil(at unsafe.Pointer) bool { return *(*unsafe.Pointer)(at) == nil }

func (p plan) newPointer(t reflect.Type) encoder {
	write := p.of(t.Elem())
	return func(w *writer, at unsafe.Pointer) {
		if isNil(at) {
			w.null()
			return
		}
		write(w, *(*unsafe.Pointer)(at))
	}
}

func (p plan) newSlice(t reflect.Type, standard encoder) encoder {
	if t.Elem().Kind() == reflect.Uint8 {
		return func(w *writer, at unsafe.Pointer) {
			if isNil(at) {
				w.standard(reflect.MakeSlice(t, 0, 0).Interface())
				return
			}
			standard(w, at)
		}
	}
	write, size := p.of(t.Elem()), t.Elem().Size()
	return func(w *writer, at unsafe.Pointer) {
		start, v := len(w.text), reflect.NewAt(t, at).Elem()
		first := v.UnsafePointer()
		for i := range v.Len() {
			w.text = append(w.text, ',')
			write(w, unsafe.Add(first, uintptr(i)*size))
		}
		w.enclose(start, '[', ']')
	}
}

func (p plan) newMap(t reflect.Type) encoder {
	write := p.of(t.Elem())
	return func(w *writer, at unsafe.Pointer) {
		start, v := len(w.text), reflect.NewAt(t, at).Elem()
		for _, name := range sortedNames(v) {
			writeMember(w, v, name, write)
		}
		w.enclose(start, '{', '}')
	}
}

func sortedNames(of reflect.Value) []reflect.Value {
	names := of.MapKeys()
	slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	return names
}

// writeMember writes a member of an object whose members are in a map.
func writeMember(w *writer, of, name reflect.Value, write encoder) {
	w.text = append(w.text, ',')
	w.string(name.String())
	w.text = append(w.text, ':')
	write(w, copyOf(of.MapIndex(name)).UnsafePointer())
}
