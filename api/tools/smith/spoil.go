package smith

import (
	"encoding/json"
	"maps"
	"slices"
)

// Spoil changes n random parts of the operations and schemas, which Insert then adds as they are.
func (s *Smith) Spoil(operations, n int) {
	s.write(operations)
	for range n {
		s.spoil(pick(s, s.paths, s.components["schemas"]), 0)
	}
}

// spoil changes a part of an object.
func (s *Smith) spoil(object members, depth int) {
	names := slices.Sorted(maps.Keys(object))
	if len(names) == 0 {
		return
	}
	name := pick(s, names...)
	value := object[name]
	if depth < 2 || s.chance(80) {
		switch inner := value.(type) {
		case members:
			if len(inner) > 0 {
				s.spoil(inner, depth+1)
				return
			}
		case []any:
			if len(inner) > 0 {
				i := s.IntN(len(inner))
				if element, ok := inner[i].(members); ok && len(element) > 0 {
					s.spoil(element, depth+1)
				} else {
					changed := slices.Clone(inner)
					changed[i], object[name] = s.strange(), changed
				}
				return
			}
		}
	}
	switch s.IntN(5) {
	case 0:
		delete(object, name)
	case 1:
		delete(object, name)
		object[s.odd()] = value
	case 2:
		object[pick(s, keywords...)] = s.strange()
	case 3:
		object[s.odd()] = value // twice
	default:
		object[name] = s.strange()
	}
}

//nolint:gochecknoglobals // never changed
var keywords = []string{
	"$ref", "$dynamicRef", "style", "explode", "content", "schema", "type", "format", "enum", "const", "items", "prefixItems", "allOf",
	"oneOf", "anyOf", "not", "if", "then", "properties", "required", "additionalProperties", "discriminator", "readOnly", "writeOnly", "nullable",
	"x-go-name", "x-go-type", "x-go-type-name", "x-enum-varnames", "x-itemSchema", "itemSchema", "in", "name", "headers", "encoding", "parameters",
	"requestBody", "responses", "operationId", "callbacks", "query", "trace", "default", "$defs", "$id", "$anchor", "patternProperties",
}

// odd returns a name that is hard to write in Go or JSON.
func (s *Smith) odd() string {
	return pick(s, "", "a\"b", "a`b", "a\nb", "a/b~c", "{a", "日本", "0", "-", "*/", "%s", "type", "Nullable", "Value", "a,omitempty", "\u2028", "नाम",
		"error", "nil", "func", "init", "Client", "Error", "ServerInterface", "StrictHandlerFunc", "AdditionalProperties")
}

// strange returns a value that is unlikely to fit.
func (s *Smith) strange() any {
	return pick[any](s, nil, true, 0, -1, 1.5, 1e300, "", s.odd(), []any{}, []any{nil, 1, "a"}, members{}, members{"type": "string"},
		members{"$ref": "#/components/schemas/none"}, members{"$ref": "#/paths"}, members{"$ref": "#here"}, ref(s.anyObject()),
		members{"oneOf": []any{ref(s.anyObject()), members{"type": "null"}}}, members{"allOf": []any{members{"type": "string"}, members{"type": "integer"}}},
		members{"type": []any{"string", "object", "null"}}, members{"type": "object", "additionalProperties": s.object(1)}, s.object(1), s.union(1),
		members{"enum": []any{1, "a", nil}}, members{"enum": []any{"a", "A", "a "}}, members{"const": members{}}, members{"type": "array", "items": false},
		"matrix", "pipeDelimited", "deepObject", "#/components/schemas/"+s.anyObject(), json.Number("1e400"))
}
