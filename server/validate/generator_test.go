package validate_test

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"
)

type object = map[string]any

// generator creates random schemas with all keywords, and values that often match them.
type generator struct {
	*rand.Rand
	schemas []object
}

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g *generator, of ...T) T { return of[g.IntN(len(of))] }

func (g *generator) document(n int) object {
	components := object{}
	for i := range n {
		// registered first, because members may refer to this schema and to later ones
		g.schemas = append(g.schemas, nil)
		g.schemas[i] = g.schema(3, n)
		components[schemaName(i)] = g.schemas[i]
	}
	return object{"components": object{"schemas": components}}
}

func (g *generator) schema(depth, n int) object {
	s := object{}
	kinds := []string{"string", "integer", "number", "boolean", "null"}
	if depth > 0 {
		kinds = append(kinds, "object", "object", "object", "array", "array")
	}
	switch {
	case g.chance(10) && depth > 0:
		return g.tagged(depth, n)
	case g.chance(10) && depth > 0:
		keyword := pick(g, "oneOf", "anyOf")
		one := g.schema(depth-1, n)
		if one["type"] == nil || strings.Contains(asJSON(one["type"]), "null") {
			keyword = "anyOf"
		}
		alternatives := []any{one, object{"type": "null"}}
		if g.chance(50) {
			alternatives[0], alternatives[1] = alternatives[1], alternatives[0]
		}
		s[keyword] = alternatives
		if plain := asJSON(one); plain == `{"type":"null"}` {
			return one
		}
		return s
	case g.chance(80):
		kind := pick(g, kinds...)
		s["type"] = kind
		if second := pick(g, kinds...); g.chance(25) && second != kind {
			s["type"] = []any{kind, second}
		}
		kinds = []string{kind}
	}
	for _, kind := range kinds {
		if g.chance(80) {
			g.constrain(s, kind, depth, n)
		}
	}
	if g.chance(12) {
		var values []any
		for range 1 + g.IntN(3) {
			values = append(values, g.value(2))
		}
		s["enum"] = values
	} else if g.chance(5) {
		if value := g.value(2); value != nil {
			s["const"] = value
		}
	}
	if g.chance(15) && depth > 0 {
		also := []any{g.schema(depth-1, n)}
		if g.chance(40) && len(g.schemas) > 1 {
			also = append(also, object{"$ref": refTo(g.IntN(len(g.schemas) - 1))})
		}
		s["allOf"] = also
	}
	g.apply(s, depth, n)
	return s
}

// apply adds keywords that apply other schemas to the same value.
func (g *generator) apply(s object, depth, n int) {
	if depth == 0 {
		return
	}
	if g.chance(4) {
		s["not"] = g.either(depth-1, n)
	}
	if g.chance(6) {
		s["if"] = g.either(depth-1, n)
		for _, keyword := range []string{"then", "else"} {
			if g.chance(60) {
				s[keyword] = g.either(depth-1, n)
			}
		}
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		if g.chance(4) && s[keyword] == nil {
			var alternatives []any
			for range 1 + g.IntN(3) {
				alternatives = append(alternatives, g.either(depth-1, n))
			}
			s[keyword] = alternatives
		}
	}
	if g.chance(3) {
		s["$defs"] = object{"of it": g.schema(depth-1, n)}
	}
}

// either returns a schema for the same value: a boolean, an earlier schema or a new one.
func (g *generator) either(depth, n int) any {
	switch {
	case g.chance(6):
		return g.chance(60)
	case g.chance(10) && len(g.schemas) > 1:
		return object{"$ref": refTo(g.IntN(len(g.schemas) - 1))}
	}
	return g.schema(depth, n)
}

// inside returns a schema for a part of a value. It may be a boolean.
func (g *generator) inside(depth, n int) any {
	if g.chance(8) {
		return g.chance(60)
	}
	return g.part(depth, n)
}

// part returns a schema for a part of a value. It may refer to any schema.
func (g *generator) part(depth, n int) object {
	if g.chance(15) {
		ref := object{"$ref": refTo(g.IntN(n))}
		switch g.IntN(4) {
		case 0:
			ref["description"] = "said of the reference alone"
		case 1:
			ref["maxLength"] = g.IntN(3)
			ref["minProperties"] = g.IntN(2)
		}
		return ref
	}
	return g.schema(depth, n)
}

func refTo(i int) string { return "#/components/schemas/" + schemaName(i) }

func (g *generator) constrain(s object, kind string, depth, n int) {
	switch kind {
	case "string":
		g.maybe(s, "minLength", g.IntN(4))
		g.maybe(s, "maxLength", g.IntN(5))
		g.maybe(s, "pattern", pick(g, "^a", "b$", "[a-c]+", "^.{2}$", "é"))
		if s["type"] == "string" && g.chance(20) {
			s["format"] = pick(g, "uuid", "date-time", "date", "email", "uri", "time", "duration", "ipv4", "ipv6", "hostname", "json-pointer")
		}
	case "integer", "number":
		g.maybe(s, pick(g, "minimum", "exclusiveMinimum"), pick(g, numbers...))
		g.maybe(s, pick(g, "maximum", "exclusiveMaximum"), pick(g, numbers...))
		g.maybe(s, "multipleOf", pick(g, any(1), 2, 3, 0.5, 0.25, 0.1, 1e-8))
	case "array":
		g.maybe(s, "minItems", g.IntN(3))
		g.maybe(s, "maxItems", g.IntN(4))
		g.maybe(s, "uniqueItems", g.chance(80))
		if depth > 0 && g.chance(70) {
			s["items"] = g.inside(depth-1, n)
		}
		g.elements(s, depth, n)
	case "object":
		if depth == 0 {
			return
		}
		properties := object{}
		for range g.IntN(4) {
			properties[pick(g, memberNames...)] = g.inside(depth-1, n)
		}
		if len(properties) > 0 {
			s["properties"] = properties
		}
		if g.chance(40) {
			var list []any
			for _, name := range memberNames {
				if g.chance(10) || properties[name] != nil && g.chance(40) {
					list = append(list, name)
				}
			}
			if list != nil {
				s["required"] = list
			}
		}
		g.maybe(s, "minProperties", g.IntN(3))
		g.maybe(s, "maxProperties", 1+g.IntN(4))
		switch g.IntN(6) {
		case 0:
			s["additionalProperties"] = g.chance(50)
		case 1:
			s["additionalProperties"] = g.inside(depth-1, n)
		}
		g.members(s, depth, n)
	}
}

// elements adds the rarer keywords of arrays.
func (g *generator) elements(s object, depth, n int) {
	if depth == 0 {
		return
	}
	if g.chance(15) {
		var prefix []any
		for range 1 + g.IntN(2) {
			prefix = append(prefix, g.inside(depth-1, n))
		}
		s["prefixItems"] = prefix
	}
	if g.chance(12) {
		s["contains"] = g.inside(depth-1, n)
		g.maybe(s, "minContains", g.IntN(3))
		g.maybe(s, "maxContains", g.IntN(3))
	}
	if g.chance(12) {
		s["unevaluatedItems"] = g.inside(depth-1, n)
	}
}

// members adds the rarer keywords of objects.
func (g *generator) members(s object, depth, n int) {
	if g.chance(12) {
		s["patternProperties"] = object{pick(g, "^[ab]$", "c", "^t", "."): g.inside(depth-1, n)}
	}
	if g.chance(8) {
		s["propertyNames"] = pick(g, object{"maxLength": 3}, object{"pattern": "^[a-d]"}, object{"enum": []any{"a", "b", "tag"}}, object{"not": object{"const": "c"}})
	}
	if g.chance(10) {
		s["dependentRequired"] = object{pick(g, memberNames...): []any{pick(g, memberNames...)}}
	}
	if g.chance(8) {
		s["dependentSchemas"] = object{pick(g, memberNames...): g.either(depth-1, n)}
	}
	if g.chance(15) {
		s["unevaluatedProperties"] = g.inside(depth-1, n)
	}
}

func (g *generator) maybe(s object, keyword string, value any) {
	if g.chance(20) {
		s[keyword] = value
	}
}

// tagged returns a union whose alternatives have different constants in one member.
func (g *generator) tagged(depth, n int) object {
	var alternatives []any
	for _, tag := range []string{"a", "ab", "c"} {
		alternatives = append(alternatives, object{
			"type":       "object",
			"required":   []any{"tag"},
			"properties": object{"tag": object{"const": tag}, "a": g.part(depth-1, n)},
		})
	}
	if g.chance(30) {
		alternatives = append(alternatives, object{"type": "null"})
	}
	return object{pick(g, "oneOf", "anyOf"): alternatives}
}

var (
	memberNames = []string{"a", "b", "c", "tag", "d/e~f"}
	numbers     = []any{-2, -1, 0, 1, 2, 3, 17, 0.5, 1.5, -0.25, 100000000}
	stringsPool = []any{
		"", "a", "ab", "abc", "bcd", "é", "éa", "😀", "a\"\\\n", "\u0000", "01936f3e-7d00-7c4d-8e55-3a7a2b1c0d20", "2026-01-12T09:30:00Z",
		"09:30:00Z", "P1DT2H", "127.0.0.1", "::1", "a/b", "2026-02-30T09:30:00Z", "2026-01-12", "2026-02-30", "ada@example.com", "https://example.com/a?b=c", "/relative",
	}
)

// value returns any JSON value.
func (g *generator) value(depth int) any {
	switch k := g.IntN(10); {
	case k < 3:
		return pick(g, stringsPool...)
	case k < 6:
		return pick(g, numbers...)
	case k == 6:
		return pick(g, any(true), false, nil)
	case depth == 0:
		return nil
	case k == 7:
		elements := []any{}
		for range g.IntN(4) {
			elements = append(elements, g.value(depth-1))
		}
		return elements
	default:
		members := object{}
		for range g.IntN(4) {
			members[pick(g, memberNames...)] = g.value(depth - 1)
		}
		return members
	}
}

// body returns JSON that often matches schema i.
func (g *generator) body(i int) string { return asJSON(g.match(g.schemas[i], 5)) }

func asJSON(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err) // only encodable values are generated
	}
	return string(encoded)
}

// matchAny is match for a schema that may be a boolean.
func (g *generator) matchAny(s any, depth int) any {
	if o, ok := s.(object); ok {
		return g.match(o, depth)
	}
	return g.value(1)
}

// match returns a value that often matches s.
func (g *generator) match(s object, depth int) any {
	if depth == 0 || g.chance(4) {
		return g.value(1)
	}
	if ref, ok := s["$ref"].(string); ok {
		i, _ := strconv.Atoi(strings.TrimPrefix(ref, refTo(0)[:len(refTo(0))-1]))
		return g.match(g.schemas[i], depth-1)
	}
	if values, ok := s["enum"].([]any); ok && g.chance(85) {
		return pick(g, values...)
	}
	if value, ok := s["const"]; ok && g.chance(90) {
		return value
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		if alternatives, ok := s[keyword].([]any); ok {
			if len(s) <= 2 || g.chance(50) {
				return g.matchAny(pick(g, alternatives...), depth)
			}
		}
	}
	kind, _ := s["type"].(string)
	if kinds, ok := s["type"].([]any); ok {
		kind = pick(g, kinds...).(string)
	}
	switch kind {
	case "string":
		return pick(g, stringsPool...)
	case "integer":
		return pick(g, numbers[:7]...)
	case "number":
		return pick(g, numbers...)
	case "boolean":
		return g.chance(50)
	case "null":
		return nil
	case "array":
		prefix, _ := s["prefixItems"].([]any)
		elements := []any{}
		for i := range g.IntN(4) {
			switch {
			case i < len(prefix):
				elements = append(elements, g.matchAny(prefix[i], depth-1))
			case s["contains"] != nil && g.chance(40):
				elements = append(elements, g.matchAny(s["contains"], depth-1))
			default:
				elements = append(elements, g.matchAny(s["items"], depth-1))
			}
		}
		return elements
	case "object":
		return g.matchObject(s, depth)
	}
	return g.value(2)
}

func (g *generator) matchObject(s object, depth int) any {
	members := object{}
	properties, _ := s["properties"].(object)
	for _, name := range memberNames {
		if property, ok := properties[name]; ok && g.chance(70) {
			members[name] = g.matchAny(property, depth-1)
		}
	}
	required, _ := s["required"].([]any)
	for _, name := range required {
		if property, ok := properties[name.(string)]; ok && g.chance(90) {
			members[name.(string)] = g.matchAny(property, depth-1)
		}
	}
	if g.chance(20) {
		members[pick(g, memberNames...)] = g.value(1)
	}
	return members
}
