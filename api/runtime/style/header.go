package style

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/avatarstudio/avatarstudio/api/runtime/encode"
)

// Header is a header of a request or response as a document describes it.
type Header struct {
	Name string
	Kind Kind

	// Required is true if the header must be there. Servers take an empty text for none.
	Required bool
}

// Kind is the form of a header.
type Kind int

// The forms of a header in the style simple, and JSON.
const (
	Scalar Kind = iota
	Array       // a,b
	JSON
)

// Text returns the text of a value. It returns an error if the text would be read as another value, as a comma in an
// element would.
func (h Header) Text(value any) (string, error) {
	if h.Kind == JSON {
		encoded, err := encode.JSON(value)
		return string(encoded), err
	}
	if text, ok := scalarOf(reflect.ValueOf(value)); ok && h.Kind == Scalar && isPlain(text) && (text != "" || !h.Required) {
		return text, nil
	}
	if v := reflect.Indirect(reflect.ValueOf(value)); h.Kind == Array && v.Kind() == reflect.Slice && v.Len() == 0 {
		return "", nil // which is read as an empty list
	}
	p := Param{Name: h.Name, Style: simple, Required: h.Required}
	parts, err := p.parts(value, func(text string) string { return text })
	if err != nil {
		return "", fmt.Errorf("header %w", err)
	}
	text := strings.Join(parts, "")
	if !isPlain(text) || !h.means(text, value) {
		return "", fmt.Errorf("header %s: the document has no form for this value", h.Name)
	}
	return text, nil
}

// isPlain reports whether a header can contain a text unchanged.
func isPlain(text string) bool {
	isControl := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	return !strings.ContainsFunc(text, isControl) && strings.Trim(text, " \t") == text
}

// means reports whether a text is read as value.
func (h Header) means(text string, value any) bool {
	want, err := plain(value)
	if err != nil {
		return false
	}
	got, err := decode(h.json(text, reflect.TypeOf(value)))
	return err == nil && reflect.DeepEqual(got, want)
}

// Read decodes the header into a pointer. It does nothing if the header is absent.
func (h Header) Read(from http.Header, into any) error {
	values := from.Values(h.Name)
	if len(values) == 0 {
		return nil
	}
	if err := json.Unmarshal(h.json(strings.Join(values, ","), reflect.TypeOf(into)), into); err != nil {
		return fmt.Errorf("header %s: %w", h.Name, err)
	}
	return nil
}

// json returns the JSON that a text stands for.
func (h Header) json(text string, of reflect.Type) []byte {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch h.Kind {
	case JSON:
		return []byte(text)
	case Scalar:
		return scalarJSON(text, of)
	case Array:
	}
	list := []json.RawMessage{}
	for part := range strings.SplitSeq(text, ",") {
		if text == "" {
			break
		}
		list = append(list, scalarJSON(strings.Trim(part, " \t"), of.Elem()))
	}
	encoded, _ := json.Marshal(list) // an invalid element is an error of the caller
	return encoded
}

// scalarJSON returns the JSON of a text that is read as a type.
func scalarJSON(text string, of reflect.Type) []byte {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch of.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Float32, reflect.Float64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return []byte(text)
	case reflect.Slice:
		if of == reflect.TypeFor[json.RawMessage]() && json.Valid([]byte(text)) && !strings.ContainsAny(text[:1], "\"[{") {
			return []byte(text)
		}
	default:
	}
	quoted, _ := json.Marshal(text) // strings always marshal
	return quoted
}

// Set adds headers to a response. If a value cannot be written, it adds none.
func Set(to http.Header, values ...HeaderValue) error {
	written := make([]string, len(values))
	var errs []error
	for i, v := range values {
		if v.Absent {
			continue
		}
		text, err := v.Text(v.Value)
		written[i], errs = text, append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, v := range values {
		if !v.Absent {
			to.Set(v.Name, written[i])
		}
	}
	return nil
}

// HeaderValue is a header with its value, which may be absent.
type HeaderValue struct {
	Header

	Value  any
	Absent bool
}
