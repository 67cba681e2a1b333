package smith

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// A direction is the prefix of the names of members that must not be sent in it.
const (
	inRequest  = "ro"
	inResponse = "wo"
)

var oneWay = regexp.MustCompile(`^(ro|wo)\d+$`)

// directed returns a copy of a schema without the members that must not be sent in a direction. No member is required
// that one of the directions does not have.
func directed(value any, direction string) any {
	switch value := value.(type) {
	case []any:
		all := []any{}
		for _, element := range value {
			all = append(all, directed(element, direction))
		}
		return all
	case object:
		all := object{}
		for name, member := range value {
			switch list, isList := member.([]any); {
			case name == "required" && isList:
				all[name] = slices.DeleteFunc(slices.Clone(list), func(name any) bool {
					return strings.HasPrefix(name.(string), direction) && oneWay.MatchString(name.(string))
				})
			case strings.HasPrefix(name, direction) && oneWay.MatchString(name):
				all[name] = false
			default:
				all[name] = directed(member, direction)
			}
		}
		return all
	}
	return value
}

// validate asks the other validator.
func (e *exchange) validate(schema any, direction string, value any) error {
	if schema == nil {
		return nil
	}
	key := direction + encoded(schema)
	if e.schemas[key] == nil {
		c := jsonschema.NewCompiler()
		c.DefaultDraft(jsonschema.Draft2020)
		c.AssertFormat()
		for name, limits := range map[string][2]string{
			"int32": {"-2147483648", "2147483647"}, "int64": {"-9223372036854775808", "9223372036854775807"}, "uint8": {"0", "255"}, "uint64": {"0", "18446744073709551615"},
		} {
			c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(v any) error { return within(v, limits) }})
		}
		c.RegisterFormat(&jsonschema.Format{Name: "byte", Validate: func(v any) error {
			text, _ := v.(string)
			_, err := base64.StdEncoding.DecodeString(text)
			return err
		}})
		url := fmt.Sprintf("urn:schema:%d", len(e.schemas))
		harness.Check(e.T, c.AddResource(url, object{
			"components": object{"schemas": directed(e.document["components"].(object)["schemas"], direction)}, "it": directed(schema, direction),
		}))
		e.schemas[key] = harness.Try(c.Compile(url + "#/it"))(e)
	}
	return e.schemas[key].Validate(value)
}

func within(v any, limits [2]string) error {
	number, ok := v.(json.Number)
	if !ok {
		return nil
	}
	x, _ := new(big.Rat).SetString(number.String())
	least, _ := new(big.Rat).SetString(limits[0])
	most, _ := new(big.Rat).SetString(limits[1])
	if x.Cmp(least) < 0 || x.Cmp(most) > 0 {
		return errors.New("is out of the range of the format")
	}
	return nil
}

// valid returns a random value that the other validator calls valid.
func (e *exchange) valid(schema any, direction string) (any, bool) {
	for range 100 {
		if value := e.match(schema, 6); e.validate(schema, direction, value) == nil {
			return parse([]byte(encoded(value))), true
		}
	}
	return nil, false
}

func pick[T any](e *exchange, of ...T) T { return of[e.IntN(len(of))] }

func number(text string) any { return json.Number(text) }

// match returns a value that a schema likely allows.
func (e *exchange) match(schema any, depth int) any {
	s, ok := schema.(object)
	if !ok || depth == 0 {
		return pick(e, any("any"), number("7"), true)
	}
	if s["$ref"] != nil {
		return e.match(e.resolve(s), depth-1)
	}
	if value, ok := s["const"]; ok {
		return value
	}
	if all, ok := s["enum"].([]any); ok {
		return pick(e, all...)
	}
	if parts, ok := s["allOf"].([]any); ok {
		whole := object{}
		own := maps.Clone(s)
		if delete(own, "allOf"); own["properties"] == nil {
			delete(own, "type")
		}
		for _, part := range append(slices.Clone(parts), any(own)) {
			if part := part.(object); part["type"] == nil && part["$ref"] == nil && part["allOf"] == nil { // refines the others
				continue
			}
			members, _ := e.match(part, depth).(object)
			for name, value := range members {
				if _, given := whole[name]; !given {
					whole[name] = value
				}
			}
		}
		return whole
	}
	if parts := slices.Concat(list(s["oneOf"]), list(s["anyOf"])); len(parts) > 0 {
		value := e.match(pick(e, parts...), depth)
		if whole, ok := value.(object); ok && s["properties"] != nil {
			maps.Copy(whole, e.matchObject(s, depth).(object))
		}
		return value
	}
	kind, _ := s["type"].(string)
	if kinds, ok := s["type"].([]any); ok {
		kind = pick(e, kinds...).(string)
	} else if s["properties"] != nil {
		kind = "object"
	}
	switch kind {
	case "string":
		return e.text(s)
	case "integer":
		return pick(e, number("0"), number("1"), number("-2"), number("17"), number("100"), number("2147483647"), number("9007199254740993"))
	case "number":
		if s["format"] == "float" {
			return pick(e, number("0.5"), number("-1.25"), number("16777216"))
		}
		return pick(e, number("0"), number("0.1"), number("-1e-300"), number("16777217"), number("1000.5"), number("1e300"))
	case "boolean":
		return e.IntN(2) == 0
	case "null":
		return nil
	case "array":
		all := []any{}
		for range (e.IntN(8) + 2) / 3 { // an empty one often has no text
			all = append(all, e.match(s["items"], depth-1))
		}
		return all
	case "object":
		return e.matchObject(s, depth)
	}
	return pick[any](e, "any", number("9007199254740993"), true, nil, []any{number("1.0"), nil}, object{"a": nil})
}

func (e *exchange) matchObject(s object, depth int) any {
	all := object{}
	properties, _ := s["properties"].(object)
	required, _ := s["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if oneWay.MatchString(name) && e.IntN(3) > 0 {
			continue
		}
		if slices.Contains(required, any(name)) || e.IntN(10) < 6 {
			all[name] = e.match(properties[name], depth-1)
		}
	}
	if others, ok := s["additionalProperties"]; ok && others != false || len(properties) == 0 {
		for _, name := range []string{"k", "ключ", "a/b~c", ""} {
			if e.IntN(4) == 0 {
				all[name] = e.match(others, depth-1)
			}
		}
	}
	return all
}

func (e *exchange) text(s object) any {
	switch s["format"] {
	case "date-time":
		return pick(e, "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000006+02:00")
	case "date":
		return "2026-02-28"
	case "uuid":
		return "01936f3e-7d00-7c4d-8e55-3a7a2b1c0d20"
	case "byte":
		return pick(e, "YSxi", "AA==")
	case "email":
		return "ada@example.com"
	case "duration":
		return "P1DT2H"
	case "uri":
		return "https://example.com/a?b=c"
	case "binary":
		return pick(e, "a", "\x00\r\n--", "ü日😀")
	}
	return pick(e, "", "a", "b c", "x-y,z", "null", "0", "a+b%20&c=d", "ü日😀", "\"q\"", "a:check", "%2F", "a/b", "..", "1.0", "true", "{}")
}

// spoil changes a random part of a value.
func (e *exchange) spoil(value any) any {
	other := func() any {
		return pick[any](e, "other", number("3"), number("-1"), number("0.25"), false, nil, []any{}, []any{number("1")}, "2026-02-30", object{})
	}
	switch value := value.(type) {
	case []any:
		if len(value) > 0 && e.IntN(5) > 0 {
			changed := slices.Clone(value)
			i := e.IntN(len(changed))
			changed[i] = e.spoil(changed[i])
			return changed
		}
	case object:
		if len(value) > 0 && e.IntN(5) > 0 {
			changed := maps.Clone(value)
			name := pick(e, slices.Sorted(maps.Keys(changed))...)
			if e.IntN(3) == 0 {
				delete(changed, name)
			} else {
				changed[name] = e.spoil(changed[name])
			}
			return changed
		}
	}
	return other()
}

// same reports whether two values are equal. Members that are null are equal to absent ones if absent is true.
func same(a, b any, absent bool) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		x, _ := new(big.Rat).SetString(a.String())
		y, _ := new(big.Rat).SetString(b.String())
		return ok && x.Cmp(y) == 0
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, func(x, y any) bool { return same(x, y, absent) })
	case object:
		b, ok := b.(object)
		if !ok {
			return false
		}
		names := maps.Clone(a)
		maps.Copy(names, b)
		for name := range names {
			x, isIn := a[name]
			y, isInB := b[name]
			if (isIn != isInB && (!absent || x != nil || y != nil)) || !same(x, y, absent) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}
