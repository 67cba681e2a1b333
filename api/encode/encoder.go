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
)

// encoder writes a value of one type.
type encoder func(w *writer, v reflect.Value)

var encoders sync.Map //nolint:gochecknoglobals // a cache: encoder by reflect.Type

func encoderOf(t reflect.Type) encoder {
	if known, ok := encoders.Load(t); ok {
		return known.(encoder) //nolint:forcetypeassert // the map has nothing else
	}
	e := plan{}.of(t)
	encoders.Store(t, e)
	return e
}

// plan contains the encoders of a type and of the types in it. The encoder of a type that is not planned yet is nil.
type plan map[reflect.Type]*encoder

func (p plan) of(t reflect.Type) encoder {
	if e := p[t]; e != nil && *e == nil { // t contains itself
		return func(w *writer, v reflect.Value) { (*e)(w, v) }
	} else if e != nil {
		return *e
	}
	e := new(encoder)
	p[t] = e
	*e = p.newEncoder(t)
	return *e
}

func (p plan) newEncoder(t reflect.Type) encoder {
	switch {
	case t.Kind() == reflect.Pointer:
		return p.newPointer(t)
	case t == reflect.TypeFor[time.Time]():
		return writeTime
	case t.Implements(reflect.TypeFor[Wrapper]()):
		return func(w *writer, v reflect.Value) { w.value(reflect.ValueOf(pointerTo(v).(Wrapper).JSONValue())) }
	case t.Kind() == reflect.Struct:
		return p.newStruct(t)
	case marshals(t):
		return writeStandard
	}
	switch t.Kind() {
	case reflect.String:
		return func(w *writer, v reflect.Value) { w.string(v.String()) }
	case reflect.Bool:
		return func(w *writer, v reflect.Value) { w.text = strconv.AppendBool(w.text, v.Bool()) }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(w *writer, v reflect.Value) { w.text = strconv.AppendInt(w.text, v.Int(), 10) }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return func(w *writer, v reflect.Value) { w.text = strconv.AppendUint(w.text, v.Uint(), 10) }
	case reflect.Float64:
		return func(w *writer, v reflect.Value) { w.float(v.Float()) }
	case reflect.Interface:
		return func(w *writer, v reflect.Value) { w.value(v.Elem()) }
	case reflect.Slice:
		return p.newSlice(t)
	case reflect.Map:
		if t.Key().Kind() == reflect.String && !marshals(t.Key()) {
			return p.newMap(t)
		}
	default:
	}
	return writeStandard
}

// marshals reports whether encoding/json calls a method of a type.
func marshals(t reflect.Type) bool {
	pointer := reflect.PointerTo(t)
	return pointer.Implements(reflect.TypeFor[json.Marshaler]()) || pointer.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// pointerTo returns a pointer to a value, or the value if it has no address.
func pointerTo(v reflect.Value) any {
	if v.CanAddr() {
		v = v.Addr()
	}
	return v.Interface()
}

func writeStandard(w *writer, v reflect.Value) { w.standard(pointerTo(v)) }

func writeTime(w *writer, v reflect.Value) {
	at, ok := pointerTo(v).(*time.Time)
	if !ok {
		w.standard(v.Interface())
		return
	}
	text, err := at.AppendText(append(w.text, '"'))
	w.fail(err)
	w.text = append(text, '"')
}

func (p plan) newPointer(t reflect.Type) encoder {
	write := p.of(t.Elem())
	return func(w *writer, v reflect.Value) {
		if v.IsNil() {
			w.null()
			return
		}
		write(w, v.Elem())
	}
}

func (p plan) newSlice(t reflect.Type) encoder {
	if t.Elem().Kind() == reflect.Uint8 {
		return func(w *writer, v reflect.Value) {
			if v.IsNil() {
				v = reflect.MakeSlice(t, 0, 0)
			}
			writeStandard(w, v)
		}
	}
	write := p.of(t.Elem())
	return func(w *writer, v reflect.Value) {
		w.text = append(w.text, '[')
		for i := range v.Len() {
			w.comma('[')
			write(w, v.Index(i))
		}
		w.text = append(w.text, ']')
	}
}

func (p plan) newMap(t reflect.Type) encoder {
	write := p.of(t.Elem())
	return func(w *writer, v reflect.Value) {
		w.text = append(w.text, '{')
		for _, name := range sortedNames(v) {
			writeMember(w, v, name, write)
		}
		w.text = append(w.text, '}')
	}
}

func sortedNames(of reflect.Value) []reflect.Value {
	names := of.MapKeys()
	slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	return names
}

// writeMember writes a member of an object whose members are in a map.
func writeMember(w *writer, of, name reflect.Value, write encoder) {
	w.comma('{')
	w.string(name.String())
	w.text = append(w.text, ':')
	write(w, of.MapIndex(name))
}
