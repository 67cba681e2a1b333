// Package encode encodes the types of package gen as JSON.
//
// The JSON is that of encoding/json, with these exceptions. A slice or map that is nil is empty instead of null. The
// map AdditionalProperties of a struct has the other members of the object, as has the JSON in its field union. A
// [Wrapper] has the JSON of its value. Methods of a pointer are called for values without an address, too. A value that
// is nested 10,000 times in itself or in interfaces is an error like one that contains itself.
package encode

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"sync"
	"unicode/utf8"
	"unsafe"
)

// Wrapper is a type whose JSON is that of another value.
type Wrapper interface {
	// JSONValue returns a pointer to the value, or a nil pointer for null.
	JSONValue() any
}

// JSON returns the JSON of a value.
func JSON(value any) ([]byte, error) {
	w, _ := writers.Get().(*writer)
	w.value(reflect.ValueOf(value))
	text, err := bytes.Clone(w.text), w.err
	if w.reset() {
		writers.Put(w)
	}
	return text, err
}

// Append appends the JSON of a value to text. If the value has no JSON, the result has a part of it.
func Append[T any](text []byte, value *T) ([]byte, error) {
	w, _ := writers.Get().(*writer)
	own := w.text
	w.text = text
	kindOf(reflect.TypeFor[T]()).write(w, unsafe.Pointer(value)) //nolint:gosec // the encoder is that of type T
	text, err := w.text, w.err
	w.text = own
	w.reset()
	writers.Put(w)
	return text, err
}

// Send sends a response with the JSON of body, followed by a newline. The function headers adds headers to the
// response, unless it is nil. If body has no JSON, or headers fails, Send sends nothing.
func Send[T any](to http.ResponseWriter, status int, mediaType string, body T, headers func(http.Header) error) error {
	known := kindOf(reflect.TypeFor[T]())
	r, ok := known.responses.Get().(*response[T])
	if !ok {
		r = new(response[T])
	}
	r.body = body
	known.write(&r.writer, unsafe.Pointer(&r.body)) //nolint:gosec // the encoder is that of type T
	err := r.send(to, status, mediaType, headers)
	r.body = *new(T)
	if r.reset() {
		known.responses.Put(r)
	}
	return err
}

// response is a body of a response and its JSON. It is reused: an encoder needs a body on the heap.
type response[T any] struct {
	writer

	body T
}

// writer collects JSON.
type writer struct {
	text  []byte
	err   error // the first
	depth int   // of values of the types that contain themselves, and of interfaces
}

func (w *writer) send(to http.ResponseWriter, status int, mediaType string, headers func(http.Header) error) error {
	if w.err != nil {
		return w.err
	}
	if headers != nil {
		if err := headers(to.Header()); err != nil {
			return err
		}
	}
	to.Header()["Content-Type"] = contentType(mediaType)
	to.WriteHeader(status)
	w.text = append(w.text, '\n')
	_, err := to.Write(w.text)
	return err
}

// Values of Content-Type. Responses share them, like those of many servers: nothing writes the elements of a header.
var (
	jsonType    = []string{"application/json"}         //nolint:gochecknoglobals // never written
	problemType = []string{"application/problem+json"} //nolint:gochecknoglobals // never written
)

func contentType(mediaType string) []string {
	switch mediaType {
	case "application/json":
		return jsonType
	case "application/problem+json":
		return problemType
	default:
		return []string{mediaType}
	}
}

// writers contains writers for reuse.
var writers = sync.Pool{New: func() any { return new(writer) }} //nolint:gochecknoglobals // a pool is shared

// maxPooledText is the capacity in bytes above which a writer is not reused.
const maxPooledText = 64 << 10

// reset empties a writer and reports whether it may be reused.
func (w *writer) reset() bool {
	*w = writer{text: w.text[:0]}
	return cap(w.text) <= maxPooledText
}

// fail keeps an error, unless it is nil or not the first.
func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// value writes a value of any type.
func (w *writer) value(v reflect.Value) {
	if v.IsValid() && v.Kind() != reflect.Pointer {
		v = copyOf(v)
	}
	if !v.IsValid() || v.IsNil() {
		w.null()
		return
	}
	w.nested(kindOf(v.Type().Elem()).write, v.UnsafePointer())
}

// maxDepth is the depth above which a value is taken for one that contains itself: that to which encoding/json decodes.
const maxDepth = 10_000

var errCycle = errors.New("encode: the value contains itself")

// nested writes a value that may contain itself.
func (w *writer) nested(write encoder, at unsafe.Pointer) {
	if w.depth >= maxDepth {
		w.fail(errCycle)
	}
	if w.err == nil {
		w.depth++
		write(w, at)
		w.depth--
	}
}

// copyOf returns a pointer to a copy of a value.
func copyOf(v reflect.Value) reflect.Value {
	to := reflect.New(v.Type())
	to.Elem().Set(v)
	return to
}

// standard writes a value with encoding/json.
func (w *writer) standard(value any) {
	text, err := json.Marshal(value)
	w.fail(err)
	w.text = append(w.text, text...)
}

func (w *writer) null() { w.text = append(w.text, "null"...) }

// enclose puts the elements or members from start on in brackets. Each of them begins with a comma.
func (w *writer) enclose(start int, opening, closing byte) {
	if len(w.text) == start {
		w.text = append(w.text, opening, closing)
		return
	}
	w.text[start] = opening
	w.text = append(w.text, closing)
}

// isPlain has the bytes that need no escape. Like encoding/json, package encode escapes characters that are unsafe in
// HTML.
var isPlain = func() (plain [256]bool) { //nolint:gochecknoglobals // never written
	for c := byte(' '); c < utf8.RuneSelf; c++ {
		plain[c] = c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
	}
	return plain
}()

func (w *writer) string(value string) {
	for i := range len(value) {
		if !isPlain[value[i]] {
			w.standard(value)
			return
		}
	}
	w.text = append(append(append(w.text, '"'), value...), '"')
}

func (w *writer) float(value float64) {
	if value > -1e15 && value < 1e15 && value == float64(int64(value)) && value != 0 {
		w.text = strconv.AppendInt(w.text, int64(value), 10)
		return
	}
	w.standard(value)
}
