// Package style writes parameters and headers in the styles of OpenAPI, and reads headers.
//
// A value is converted to JSON first, so it is written as in a body: a time as in RFC 3339, and the members of a struct
// with the names in their tags.
package style

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Param is a parameter or header as a document describes it.
type Param struct {
	Name string

	// Style is a style of OpenAPI, such as form or simple. If it is empty, the value is written as JSON.
	Style   string
	Explode bool
}

// The styles with special rules.
const (
	matrix         = "matrix"
	label          = "label"
	simple         = "simple"
	form           = "form"
	spaceDelimited = "spaceDelimited"
	pipeDelimited  = "pipeDelimited"
	deepObject     = "deepObject"
)

// Path returns the segment of a path for a value.
func (p Param) Path(value any) (string, error) {
	escape := url.PathEscape
	switch p.Style {
	case "":
		encoded, err := json.Marshal(value)
		return escape(string(encoded)), err
	case label:
		escape = func(text string) string { return strings.ReplaceAll(url.PathEscape(text), ".", "%2E") }
	}
	parts, err := p.parts(value, escape)
	return strings.Join(parts, ""), err
}

// Query returns the part of a query for a value: one or more pairs of a name and a value.
func (p Param) Query(value any) (string, error) {
	parts, err := p.parts(value, url.QueryEscape)
	return strings.Join(parts, "&"), err
}

// QueryString is a parameter that is the whole query.
type QueryString struct {
	Media string // of a form, JSON, or else a text

	// Fields lists the fields of a form with a style of their own, by name.
	Fields map[string]Param
}

// Text returns the query for a value, without the question mark.
func (q QueryString) Text(value any) (text string, err error) {
	switch {
	case q.Media == "application/x-www-form-urlencoded":
		return Form(value, q.Fields)
	case strings.HasSuffix(q.Media, "/json"), strings.HasSuffix(q.Media, "+json"):
		var encoded []byte
		encoded, err = json.Marshal(value)
		text = string(encoded)
	default:
		text, err = Text(value)
	}
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20"), err // only in a form, a plus is a space
}

// Cookies returns the cookies for a value. It returns an error if a cookie cannot contain the value.
func (p Param) Cookies(value any) (cookies []*http.Cookie, err error) {
	escape := func(text string) string {
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r >= 0x7f || strings.ContainsRune("\";\\", r) }) {
			err = fmt.Errorf("cookie %s: it cannot contain this value", p.Name)
		}
		return text
	}
	if p.Style == "" {
		escape = url.QueryEscape
	}
	parts, invalid := p.parts(value, escape)
	for _, pair := range parts {
		name, value, _ := strings.Cut(pair, "=")
		cookies = append(cookies, &http.Cookie{Name: name, Value: value}) //nolint:gosec // attributes are for responses
	}
	return cookies, errors.Join(err, invalid)
}

// parts returns the text of a value. It has several parts if it is several pairs. The function escape is called for each
// name and scalar.
func (p Param) parts(value any, escape func(string) string) ([]string, error) {
	if p.Style == "" {
		encoded, err := json.Marshal(value)
		return []string{p.scalar(escape(string(encoded)), escape)}, err
	}
	if text, ok := scalarOf(reflect.ValueOf(value)); ok {
		return []string{p.scalar(escape(text), escape)}, nil
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	decoded, err := decode(encoded)
	if err != nil {
		return nil, err
	}
	if p.Style == deepObject {
		return deep(nil, p.Name, decoded), nil
	}
	switch v := decoded.(type) {
	case []any:
		return p.array(v, escape)
	case map[string]any:
		return p.object(v, escape)
	}
	return []string{p.scalar(escape(textOf(decoded)), escape)}, nil
}

// Text returns the text of a value that is a scalar in JSON.
func Text(value any) (string, error) {
	parts, err := Param{Style: simple}.parts(value, func(text string) string { return text })
	return strings.Join(parts, ""), err
}

// scalarOf returns the text of a value that is a string, a boolean or an integer in JSON.
func scalarOf(v reflect.Value) (string, bool) {
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if !v.IsValid() || v.Type().Implements(reflect.TypeFor[json.Marshaler]()) {
		return "", false
	}
	switch v.Kind() {
	case reflect.String:
		return v.String(), true
	case reflect.Bool:
		return strconv.FormatBool(v.Bool()), true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10), true
	default:
		return "", false
	}
}

// decode decodes JSON and keeps the digits of numbers.
func decode(text []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

// textOf returns the text of a decoded scalar.
func textOf(scalar any) string {
	if scalar == nil {
		return "null"
	}
	return fmt.Sprint(scalar)
}

func (p Param) scalar(text string, escape func(string) string) string {
	switch p.Style {
	case label:
		return "." + text
	case matrix:
		return ";" + escape(p.Name) + "=" + text
	case simple:
		return text
	}
	return escape(p.Name) + "=" + text
}

// texts returns the escaped texts of scalars, which must not contain the delimiter, if any.
func (p Param) texts(scalars []any, delimiter string, escape func(string) string) ([]string, error) {
	all := make([]string, len(scalars))
	for i, scalar := range scalars {
		switch scalar.(type) {
		case []any, map[string]any:
			return nil, fmt.Errorf("%s: an array or object in another one has no style", p.Name)
		}
		all[i] = escape(textOf(scalar))
		if delimiter != "" && strings.Contains(all[i], delimiter) || p.Style == spaceDelimited && !p.Explode && strings.Contains(all[i], "+") {
			return nil, fmt.Errorf("%s: an element contains the delimiter", p.Name)
		}
	}
	return all, nil
}

// delimiter returns what is between the elements of an array that is one text.
func (p Param) delimiter() string {
	switch {
	case p.Style == label && p.Explode:
		return "."
	case p.Style == spaceDelimited:
		return "%20"
	case p.Style == pipeDelimited:
		return "%7C"
	}
	return ","
}

func (p Param) array(values []any, escape func(string) string) ([]string, error) {
	pairs := p.Explode && p.Style != simple && p.Style != label
	delimiter := p.delimiter()
	if pairs {
		delimiter = ""
	}
	elements, err := p.texts(values, delimiter, escape)
	if err != nil || !pairs {
		return []string{p.scalar(strings.Join(elements, delimiter), escape)}, err
	}
	for i := range elements {
		elements[i] = p.scalar(elements[i], escape)
	}
	return elements, nil
}

func (p Param) object(members map[string]any, escape func(string) string) (pairs []string, err error) {
	delimiter := p.delimiter()
	between := delimiter
	if p.Explode {
		between = "="
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		texts, err := p.texts([]any{name, members[name]}, delimiter, escape)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, strings.Join(texts, between))
	}
	switch {
	case !p.Explode:
		return []string{p.scalar(strings.Join(pairs, delimiter), escape)}, nil
	case p.Style == simple:
		return []string{strings.Join(pairs, ",")}, nil
	case p.Style == label:
		return []string{"." + strings.Join(pairs, ".")}, nil
	case p.Style == matrix:
		return []string{";" + strings.Join(pairs, ";")}, nil
	}
	return pairs, nil
}

// deep appends the pairs of a value in the style deepObject. Elements have their index as key.
func deep(pairs []string, name string, value any) []string {
	switch v := value.(type) {
	case []any:
		for i, element := range v {
			pairs = deep(pairs, name+"["+strconv.Itoa(i)+"]", element)
		}
		return pairs
	case map[string]any:
		for _, member := range slices.Sorted(maps.Keys(v)) {
			pairs = deep(pairs, name+"["+member+"]", v[member])
		}
		return pairs
	}
	return append(pairs, url.QueryEscape(name)+"="+url.QueryEscape(textOf(value)))
}

// Form returns the form for a value whose JSON is an object. Fields lists the fields with a style of their own, by
// name. All others have the style form, or deepObject for arrays and objects.
func Form(value any, fields map[string]Param) (string, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	decoded, err := decode(encoded)
	if err != nil {
		return "", err
	}
	members, ok := decoded.(map[string]any)
	if !ok {
		return "", errors.New("a form must be an object")
	}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		p, ok := fields[name]
		if !ok {
			pairs = deep(pairs, name, members[name])
			continue
		}
		text, err := p.Query(members[name])
		if err != nil {
			return "", err
		}
		pairs = append(pairs, text)
	}
	return strings.Join(pairs, "&"), nil
}
