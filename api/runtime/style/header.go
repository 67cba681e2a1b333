package style

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"strings"

	"github.com/avatarstudio/avatarstudio/api/runtime/encode"
)

// Header returns the text of a header for a value. It returns an error if the text would be read as another value, as a
// comma in an element would.
func (p Param) Header(value any) (string, error) {
	if p.Style == "" {
		encoded, err := encode.JSON(value)
		return string(encoded), err
	}
	if text, ok := scalarOf(reflect.ValueOf(value)); ok && isPlain(text) && (text != "" || !p.Required) {
		return text, nil
	}
	if v := reflect.Indirect(reflect.ValueOf(value)); v.IsValid() && isList(v.Type()) && v.Len() == 0 {
		return "", nil // which is read as an empty list
	}
	parts, err := p.parts(value, func(text string) string { return text })
	if err != nil {
		return "", fmt.Errorf("header %w", err)
	}
	text := strings.Join(parts, "")
	if !isPlain(text) || !means(text, value) {
		return "", fmt.Errorf("header %s: the document has no form for this value", p.Name)
	}
	return text, nil
}

// isPlain reports whether a header can contain a text unchanged.
func isPlain(text string) bool {
	isControl := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	return !strings.ContainsFunc(text, isControl) && strings.Trim(text, " \t") == text
}

// means reports whether the text of a header is read as value.
func means(text string, value any) bool {
	want, err := plain(value)
	if err != nil {
		return false
	}
	got, err := decode(headerJSON(text, reflect.TypeOf(value)))
	return err == nil && reflect.DeepEqual(got, want)
}

// ReadHeader decodes a header that is a scalar or a list into a pointer. It does nothing if the header is absent.
func ReadHeader(from http.Header, name string, into any) error {
	values := from.Values(name)
	if len(values) == 0 {
		return nil
	}
	if err := json.Unmarshal(headerJSON(strings.Join(values, ","), reflect.TypeOf(into)), into); err != nil {
		return fmt.Errorf("header %s: %w", name, err)
	}
	return nil
}

// isList reports whether the JSON of a type is a list.
func isList(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8
}

// headerJSON returns the JSON that the text of a header stands for.
func headerJSON(text string, of reflect.Type) []byte {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if !isList(of) {
		return scalarJSON(text, of)
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
	written := http.Header{}
	var errs []error
	for _, v := range values {
		if !v.Absent {
			text, err := Param{Name: v.Name, Style: simple}.Header(v.Value)
			written.Set(v.Name, text)
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	maps.Copy(to, written)
	return nil
}

// HeaderValue is a header of a response with its value, a scalar or a list, which may be absent.
type HeaderValue struct {
	Name   string
	Value  any
	Absent bool
}
