package smith

import (
	"fmt"
	"maps"
	"slices"
)

// component makes a component that is an object.
func (s *Smith) component(name string, depth int) string {
	s.count++
	name += fmt.Sprint(s.count)
	s.components["schemas"][name] = s.object(depth)
	s.objects = append(s.objects, name)
	return name
}

// notNull returns a schema whose values are not null.
func (s *Smith) notNull() members {
	return pick(s, s.reference, func() members { return s.object(2) }, func() members {
		return s.as("list", members{"type": "array", "items": s.value(1)})
	}, s.tagged, s.scalar, func() members { return members{"type": "object"} })()
}

// scalar returns a schema of a string, integer, number, boolean or enum.
func (s *Smith) scalar() members {
	switch s.IntN(14) {
	case 0, 1:
		return s.as("string", members{"type": "string", "maxLength": 4 + s.IntN(8)})
	case 2, 3:
		format := pick(s, "date-time", "date", "uuid", "byte", "email", "duration", "uri")
		return s.as("format "+format, members{"type": "string", "format": format})
	case 4:
		if s.chance(30) {
			return s.as("enum of strings", members{"type": "string", "format": "date", "enum": []any{"2026-02-28", "2027-01-01"}})
		}
		return s.as("enum of strings", members{"type": "string", "enum": []any{"a", "b c", "ü", "x-y"}[:2+s.IntN(3)]})
	case 5:
		return s.as("enum without a type", members{"enum": []any{"small", "large"}})
	case 6:
		return s.as("enum of integers", members{"type": "integer", "enum": []any{1, 2, 17}})
	case 7:
		format := pick(s, "int32", "int64", "uint8", "uint64")
		return s.as("format "+format, members{"type": "integer", "format": format, "minimum": 0})
	case 8:
		return s.as("integer", members{"type": "integer", "minimum": -3, "maximum": 100})
	case 9:
		return s.as("number", members{"type": "number", "maximum": 1000.5})
	case 10:
		format := pick(s, "double", "float")
		return s.as("format "+format, members{"type": "number", "format": format})
	case 11:
		return s.as("boolean", members{"type": "boolean"})
	case 12:
		s.use("component that is an enum")
		s.count++
		name := fmt.Sprint("Enum", s.count)
		s.components["schemas"][name] = members{"type": "string", "enum": []any{"one", "two", "三"}, pick(s, "x-go-name", "x-name"): fmt.Sprint("Named", s.count)}
		return ref(name)
	}
	return s.as("string", members{"type": "string"})
}

// value returns any schema.
func (s *Smith) value(depth int) members {
	if depth == 0 {
		return s.scalar()
	}
	schema := s.plain(depth)
	if s.chance(20) {
		return s.nullable(schema)
	}
	return schema
}

func (s *Smith) plain(depth int) members {
	switch s.IntN(11) {
	case 0, 1:
		return s.scalar()
	case 2, 3:
		return s.as("list", members{"type": "array", "items": s.value(depth - 1), "maxItems": 4})
	case 4:
		return s.as("map", members{"type": "object", "additionalProperties": s.value(depth - 1)})
	case 5:
		return s.reference()
	case 6:
		return s.union(depth)
	case 7:
		return s.allOf(depth)
	case 8:
		return s.unusual()
	}
	return s.object(depth)
}

func (s *Smith) unusual() members {
	parts := []string{"free value", "free object", "free list", "several types", "constant", "null"}
	schemas := []members{{}, {"type": "object"}, {"type": "array"}, {"type": []any{"string", "integer"}}, {"const": "c"}, {"type": "null"}}
	i := s.deal("unusual", len(parts))
	return s.as(parts[i], schemas[i])
}

func (s *Smith) objectOrReference() members {
	return pick(s, s.reference, func() members { return s.object(2) })()
}

func (s *Smith) reference() members { return ref(s.anyObject()) }

func (s *Smith) anyObject() string {
	if len(s.objects) == 0 {
		return s.leaf()
	}
	return pick(s, s.objects...)
}

// leaf makes a component without members that are objects.
func (s *Smith) leaf() string { return s.component("Leaf", 0) }

// nullable allows null beside the values of a schema, in one of the ways of the specification.
func (s *Smith) nullable(schema members) members {
	if kind, ok := schema["type"].(string); ok && kind != "null" && s.chance(60) {
		s.use("nullable type")
		schema["type"] = []any{kind, "null"}
		if values, ok := schema["enum"].([]any); ok {
			schema["enum"] = append(slices.Clone(values), nil)
		}
		return schema
	}
	if len(schema) == 0 || schema["type"] == "null" {
		return schema
	}
	return s.as("union with null", members{pick(s, "oneOf", "anyOf"): []any{schema, members{"type": "null"}}})
}

func (s *Smith) union(depth int) members {
	text := members{"type": "string"}
	switch s.deal("unions", 5) {
	case 0:
		alternatives := []any{members{"type": "string"}, members{"type": "integer"}}
		if s.chance(50) {
			return s.as("oneOf", members{"type": []any{"string", "integer"}, "oneOf": append(alternatives, members{"type": "null"})})
		}
		return s.as("oneOf", members{"oneOf": alternatives})
	case 1:
		return s.as("anyOf", members{"anyOf": []any{s.reference(), members{"type": "boolean"}, members{"type": "array", "items": s.value(depth - 1)}}})
	case 2:
		return s.tagged()
	case 3:
		s.use("oneOf with additionalProperties")
		part := func() members {
			name := s.name()
			return members{"type": "object", "required": []any{name}, "properties": members{name: text}, "additionalProperties": text}
		}
		return members{"oneOf": []any{part(), part()}, "additionalProperties": text}
	}
	return s.as("oneOf", members{"oneOf": []any{members{"type": "integer"}, s.object(depth - 1)}})
}

// tagged returns a union whose alternatives a discriminator tells apart.
func (s *Smith) tagged() members {
	s.use("discriminator")
	var all []any
	discriminator := members{"propertyName": "kind", "mapping": members{}}
	for range 2 {
		name := s.leaf()
		leaf := s.components["schemas"][name].(members)
		leaf["properties"].(members)["kind"] = members{"type": "string", "const": "a " + name}
		leaf["required"] = []any{"kind"}
		within(discriminator, "mapping")["a "+name] = pick(s, ref(name)["$ref"], any(name))
		all = append(all, ref(name))
	}
	return members{"oneOf": all, "discriminator": discriminator}
}

func (s *Smith) allOf(depth int) members {
	own := s.object(depth - 1)
	names := slices.Sorted(maps.Keys(own["properties"].(members)))
	switch s.IntN(4) {
	case 0: // says again what another part says
		return s.as("allOf that refines", members{"allOf": []any{own, members{"properties": members{names[0]: members{"description": "better"}}}}})
	case 1:
		return s.as("allOf that refines", members{"allOf": []any{own, members{"required": names}}})
	}
	leaf := s.leaf()
	delete(s.components["schemas"][leaf].(members), "additionalProperties")
	return s.as("allOf", members{"type": "object", "allOf": []any{ref(leaf), own}})
}

func (s *Smith) object(depth int) members {
	properties := members{}
	required := []any{}
	for range 1 + s.IntN(4) {
		name := s.name()
		schema := s.value(max(depth-1, 0))
		if depth > 0 && s.chance(8) {
			s.use("read only")
			name, schema = "ro"+fmt.Sprint(s.count), members{"type": "integer", "readOnly": true}
		} else if depth > 0 && s.chance(8) {
			s.use("write only")
			name, schema = "wo"+fmt.Sprint(s.count), members{"type": "string", "writeOnly": true}
		}
		properties[name] = schema
		if s.chance(40) {
			required = append(required, name)
		}
	}
	schema := members{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	switch s.IntN(8) {
	case 0:
		s.use("closed object")
		schema["additionalProperties"] = false
	case 1:
		s.use("open object")
		schema["additionalProperties"] = s.value(max(depth-1, 0))
	case 2:
		s.use("open object")
		schema["additionalProperties"] = true
	}
	return schema
}
