// Package style writes parameters, forms and headers as OpenAPI describes them, and reads headers: scalars and lists in
// the styles simple and form, flat objects in the style deepObject, and all other values as JSON.
//
// A value is converted to JSON first, so it is written as in a body: a time as in RFC 3339, and the members of a struct
// with the names in their tags. What a reader would take for another value, such as an empty list or null, is an error.
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

	"github.com/avatarstudio/avatarstudio/api/runtime/encode"
)

// Param is a parameter or a field of a form as a document describes it.
type Param struct {
	Name string

	// Style is simple, form or deepObject. If it is empty, the value is written as JSON.
	Style   string
	Explode bool

	// Required is true if the value must be there. Servers take an empty text for none.
	Required bool
}

// The styles of OpenAPI.
const (
	simple     = "simple"
	form       = "form"
	deepObject = "deepObject"
)

// Path returns the segment of a path for a value. All but the unreserved characters of RFC 3986 are escaped, as section
// 3.2.2 of RFC 6570 defines it. A value that would be no segment, or lead elsewhere, is an error: an empty one, and
// dots.
func (p Param) Path(value any) (string, error) {
	if p.Style == "" {
		encoded, err := encode.JSON(value)
		if err != nil {
			return "", err
		}
		p.Style, value = simple, string(encoded)
	}
	parts, err := p.parts(value, func(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") })
	segment := strings.Join(parts, "")
	if err == nil && strings.Trim(segment, ".") == "" && len(segment) < 3 {
		err = fmt.Errorf("%s: it must not be empty or dots", p.Name)
	}
	return segment, err
}

// Query returns the part of a query for a value: one or more pairs of a name and a value.
func (p Param) Query(value any) (string, error) {
	parts, err := p.parts(value, url.QueryEscape)
	return strings.Join(parts, "&"), err
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

// parts returns the text of a value. It has several parts if it is several pairs. The function escape is called for
// each name and scalar.
func (p Param) parts(value any, escape func(string) string) ([]string, error) {
	if p.Style == "" {
		encoded, err := encode.JSON(value)
		return []string{p.pair(escape(string(encoded)), escape)}, err
	}
	if text, ok := scalarOf(reflect.ValueOf(value)); ok {
		if text == "" && p.Required {
			return nil, fmt.Errorf("%s: it must not be empty", p.Name)
		}
		return []string{p.pair(escape(text), escape)}, nil
	}
	decoded, err := plain(value)
	if err != nil {
		return nil, err
	}
	switch v := decoded.(type) {
	case []any:
		return p.list(v, escape)
	case map[string]any:
		return p.deep(v)
	}
	text, err := p.text(decoded)
	return []string{p.pair(escape(text), escape)}, err
}

// pair returns the text of a scalar, after the name unless the style is simple.
func (p Param) pair(text string, escape func(string) string) string {
	if p.Style == simple {
		return text
	}
	return escape(p.Name) + "=" + text
}

// list returns the text of a list, or a pair for each element.
func (p Param) list(values []any, escape func(string) string) ([]string, error) {
	if len(values) == 0 {
		return nil, fmt.Errorf("%s: an empty list has no form", p.Name)
	}
	pairs := p.Explode && p.Style == form
	elements := make([]string, len(values))
	for i, value := range values {
		text, err := p.text(value)
		if err != nil {
			return nil, err
		}
		elements[i] = escape(text)
		isPart := !strings.Contains(elements[i], ",") && isPlain(elements[i])
		if !pairs && (!isPart || len(values) == 1 && text == "") {
			return nil, fmt.Errorf("%s: a list with this element has no form", p.Name)
		}
		if pairs {
			elements[i] = p.pair(elements[i], escape)
		}
	}
	if pairs {
		return elements, nil
	}
	return []string{p.pair(strings.Join(elements, ","), escape)}, nil
}

// deep returns the pairs of an object in the style deepObject.
func (p Param) deep(members map[string]any) (pairs []string, err error) {
	if p.Style != deepObject {
		return nil, fmt.Errorf("%s: an object has no form", p.Name)
	}
	if len(members) == 0 {
		return nil, fmt.Errorf("%s: an empty object has no form", p.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		text, err := p.text(members[name])
		if strings.ContainsAny(name, "[]") {
			err = fmt.Errorf("%s: a member with brackets in its name has no form", p.Name)
		}
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, url.QueryEscape(p.Name+"["+name+"]")+"="+url.QueryEscape(text))
	}
	return pairs, nil
}

// text returns the text of a decoded scalar.
func (p Param) text(scalar any) (string, error) {
	switch scalar.(type) {
	case nil:
		return "", fmt.Errorf("%s: null has no form", p.Name)
	case []any, map[string]any:
		return "", fmt.Errorf("%s: a list or object in another one has no form", p.Name)
	}
	return fmt.Sprint(scalar), nil
}

// Text returns the text of a value that is a scalar in JSON.
func Text(value any) (string, error) {
	if text, ok := scalarOf(reflect.ValueOf(value)); ok {
		return text, nil
	}
	decoded, err := plain(value)
	if err != nil {
		return "", err
	}
	return Param{Name: "text"}.text(decoded)
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

// plain returns a value as it is in JSON. Numbers keep their digits.
func plain(value any) (any, error) {
	encoded, err := encode.JSON(value)
	if err != nil {
		return nil, err
	}
	return decode(encoded)
}

// decode decodes JSON and keeps the digits of numbers.
func decode(text []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

// Form returns the form for a value whose JSON is an object. Fields lists the fields with a style of their own, by
// name. The others have the default of section 4.15.1 of OpenAPI 3.1.1: a scalar is text, an object is JSON, and a list
// has a pair for each element.
func Form(value any, fields map[string]Param) (string, error) {
	decoded, err := plain(value)
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
			p = Param{Name: name, Style: form, Explode: true}
		}
		written, err := p.field(members[name], !ok)
		if err != nil {
			return "", err
		}
		pairs = append(pairs, written...)
	}
	return strings.Join(pairs, "&"), nil
}

// field returns the pairs of a field of a form. If the style is the default, objects are JSON.
func (p Param) field(value any, byDefault bool) (pairs []string, err error) {
	list, isList := value.([]any)
	if !byDefault || isList && len(list) == 0 {
		return p.parts(value, url.QueryEscape)
	}
	if !isList {
		list = []any{value}
	}
	for _, element := range list {
		one := p
		switch element.(type) {
		case map[string]any, []any:
			one.Style = ""
		}
		written, err := one.parts(element, url.QueryEscape)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, written...)
	}
	return pairs, nil
}
