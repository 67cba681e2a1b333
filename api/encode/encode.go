// Package encode encodes the types of package gen as JSON.
//
// The JSON is that of encoding/json, with three exceptions. A slice or map that is nil is empty instead of null. The map
// AdditionalProperties of a struct has the other members of the object, as has the JSON in its field union. A [Wrapper]
// has the JSON of its value.
package encode

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"sync"
	"unicode/utf8"
)

// Wrapper is a type whose JSON is that of another value.
type Wrapper interface {
	// JSONValue returns a pointer to the value, or a nil pointer for null.
	JSONValue() any
}

// JSON returns the JSON of a value.
func JSON(value any) ([]byte, error) {
	w := newWriter(value)
	defer w.release()
	return bytes.Clone(w.text), w.err
}

// Send sends a response with the JSON of body, followed by a newline. The function headers adds headers to the response,
// unless it is nil. If body has no JSON, or headers fails, Send sends nothing.
func Send(to http.ResponseWriter, status int, mediaType string, body any, headers func(http.Header) error) error {
	w := newWriter(body)
	defer w.release()
	if w.err != nil {
		return w.err
	}
	if headers != nil {
		if err := headers(to.Header()); err != nil {
			return err
		}
	}
	to.Header()["Content-Type"] = []string{mediaType}
	to.WriteHeader(status)
	w.text = append(w.text, '\n')
	_, err := to.Write(w.text)
	return err
}

// writer collects JSON.
type writer struct {
	text  []byte
	err   error // the first
	depth int   // of structs
}

// writers contains writers for reuse.
var writers = sync.Pool{New: func() any { return new(writer) }} //nolint:gochecknoglobals // a pool is shared

// maxPooledText is the capacity in bytes above which a writer is not reused.
const maxPooledText = 64 << 10

// newWriter returns a writer with the JSON of a value.
func newWriter(value any) *writer {
	w, _ := writers.Get().(*writer)
	*w = writer{text: w.text[:0]}
	w.value(reflect.ValueOf(value))
	return w
}

func (w *writer) release() {
	if cap(w.text) <= maxPooledText {
		writers.Put(w)
	}
}

// fail keeps an error, unless it is nil or not the first.
func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// value writes a value of any type.
func (w *writer) value(v reflect.Value) {
	if !v.IsValid() {
		w.null()
		return
	}
	encoderOf(v.Type())(w, v)
}

// standard writes a value with encoding/json.
func (w *writer) standard(value any) {
	text, err := json.Marshal(value)
	w.fail(err)
	w.text = append(w.text, text...)
}

func (w *writer) null() { w.text = append(w.text, "null"...) }

// comma writes a comma unless text ends with the opening byte of an array or object.
func (w *writer) comma(opened byte) {
	if w.text[len(w.text)-1] != opened {
		w.text = append(w.text, ',')
	}
}

// isPlain has the bytes that need no escape. Like encoding/json, package encode escapes characters that are unsafe in HTML.
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
