package validate_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
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

// some returns values of next, at least one.
func some[T any](g *generator, most int, next func() T) (values []any) {
	for range 1 + g.IntN(most) {
		values = append(values, next())
	}
	return values
}

// rarely adds a keyword to a schema in some percent of the cases.
func (g *generator) rarely(s object, percent int, keyword string, value func() any) {
	if g.chance(percent) {
		s[keyword] = value()
	}
}

func (g *generator) maybe(s object, keyword string, value any) {
	g.rarely(s, 20, keyword, func() any { return value })
}

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
	case depth > 0 && g.chance(10):
		return g.tagged(depth, n)
	case depth > 0 && g.chance(10): // or null
		alternatives := []any{g.schema(depth-1, n), object{"type": "null"}}
		if g.chance(50) {
			slices.Reverse(alternatives)
		}
		return object{pick(g, "anyOf", "anyOf", "oneOf"): alternatives}
	case g.chance(80):
		kind := pick(g, kinds...)
		s["type"] = kind
		if second := pick(g, kinds...); second != kind && g.chance(25) {
			s["type"] = []any{kind, second}
		}
		kinds = []string{kind}
	}
	for _, kind := range kinds {
		if g.chance(80) {
			g.constrain(s, kind, depth, n)
		}
	}
	g.rarely(s, 12, "enum", func() any { return some(g, 3, func() any { return g.value(2) }) })
	if s["enum"] == nil {
		g.rarely(s, 5, "const", func() any { return pick(g, stringsPool...) })
	}
	if depth > 0 {
		g.apply(s, depth-1, n)
	}
	return s
}

// apply adds keywords that apply other schemas to the same value.
func (g *generator) apply(s object, depth, n int) {
	either := func() any { return g.either(depth, n) }
	several := func() any { return some(g, 3, either) }
	g.rarely(s, 15, "allOf", func() any { return some(g, 2, either) })
	g.rarely(s, 4, "not", either)
	g.rarely(s, 6, "if", either)
	if s["if"] != nil {
		g.rarely(s, 60, "then", either)
		g.rarely(s, 60, "else", either)
	}
	g.rarely(s, 4, "oneOf", several)
	g.rarely(s, 4, "anyOf", several)
	g.rarely(s, 3, "$defs", func() any { return object{"of it": g.schema(depth, n)} })
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

// inside returns a schema for a part of a value: a boolean, any schema or a new one.
func (g *generator) inside(depth, n int) any {
	switch {
	case g.chance(8):
		return g.chance(60)
	case g.chance(15):
		ref := object{"$ref": refTo(g.IntN(n))}
		g.rarely(ref, 25, "description", func() any { return "said of the reference alone" })
		g.rarely(ref, 25, "maxLength", func() any { return g.IntN(3) })
		return ref
	}
	return g.schema(depth, n)
}

func refTo(i int) string { return "#/components/schemas/" + schemaName(i) }

func (g *generator) constrain(s object, kind string, depth, n int) {
	inside := func() any { return g.inside(depth-1, n) }
	switch kind {
	case "string":
		g.maybe(s, "minLength", g.IntN(4))
		g.maybe(s, "maxLength", g.IntN(5))
		g.maybe(s, "pattern", pick(g, "^a", "b$", "[a-c]+", "^.{2}$", "é"))
		if s["type"] == "string" {
			g.maybe(s, "format", pick(g, "uuid", "date-time", "date", "email", "uri", "time", "duration", "ipv4", "ipv6", "hostname", "json-pointer"))
		}
	case "integer", "number":
		g.maybe(s, pick(g, "minimum", "exclusiveMinimum"), pick(g, numbers...))
		g.maybe(s, pick(g, "maximum", "exclusiveMaximum"), pick(g, numbers...))
		g.maybe(s, "multipleOf", pick(g, any(1), 2, 3, 0.5, 0.25, 0.1, 1e-8))
	case "array":
		g.maybe(s, "minItems", g.IntN(3))
		g.maybe(s, "maxItems", g.IntN(4))
		g.maybe(s, "uniqueItems", g.chance(80))
		if depth == 0 {
			return
		}
		g.rarely(s, 70, "items", inside)
		g.rarely(s, 15, "prefixItems", func() any { return some(g, 2, inside) })
		g.rarely(s, 12, "contains", inside)
		if s["contains"] != nil {
			g.maybe(s, "minContains", g.IntN(3))
			g.maybe(s, "maxContains", g.IntN(3))
		}
		g.rarely(s, 12, "unevaluatedItems", inside)
	case "object":
		if depth > 0 {
			g.members(s, depth, n)
		}
	}
}

// members adds the keywords of objects.
func (g *generator) members(s object, depth, n int) {
	inside := func() any { return g.inside(depth-1, n) }
	name := func() any { return pick(g, memberNames...) }
	properties := object{}
	for range g.IntN(4) {
		properties[pick(g, memberNames...)] = inside()
	}
	g.rarely(s, 90, "properties", func() any { return properties })
	required := []any{}
	for _, name := range memberNames {
		if g.chance(4) || properties[name] != nil && g.chance(15) {
			required = append(required, name)
		}
	}
	g.rarely(s, 40, "required", func() any { return required })
	g.maybe(s, "minProperties", g.IntN(3))
	g.maybe(s, "maxProperties", 1+g.IntN(4))
	g.rarely(s, 30, "additionalProperties", inside)
	g.rarely(s, 12, "patternProperties", func() any { return object{pick(g, "^[ab]$", "c", "^t", "."): inside()} })
	g.rarely(s, 8, "propertyNames", func() any {
		return pick(g, object{"maxLength": 3}, object{"pattern": "^[a-d]"}, object{"enum": []any{"a", "b", "tag"}}, object{"not": object{"const": "c"}})
	})
	g.rarely(s, 10, "dependentRequired", func() any { return object{pick(g, memberNames...): []any{name()}} })
	g.rarely(s, 8, "dependentSchemas", func() any { return object{pick(g, memberNames...): g.either(depth-1, n)} })
	g.rarely(s, 15, "unevaluatedProperties", inside)
}

// tagged returns a union whose alternatives have different constants in one member.
func (g *generator) tagged(depth, n int) object {
	var alternatives []any
	for _, tag := range []string{"a", "ab", "c"} {
		alternatives = append(alternatives, object{
			"type": "object", "required": []any{"tag"}, "properties": object{"tag": object{"const": tag}, "a": g.inside(depth-1, n)},
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
	case k == 6 || depth == 0:
		return pick(g, any(true), false, nil)
	case k == 7:
		return some(g, 3, func() any { return g.value(depth - 1) })[g.IntN(2):]
	}
	members := object{}
	for range g.IntN(4) {
		members[pick(g, memberNames...)] = g.value(depth - 1)
	}
	return members
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

// match returns a value that often matches a schema.
func (g *generator) match(of any, depth int) any {
	s, ok := of.(object)
	if !ok || depth == 0 || g.chance(4) {
		return g.value(1)
	}
	if ref, ok := s["$ref"].(string); ok {
		i, _ := strconv.Atoi(strings.TrimPrefix(ref, "#/components/schemas/S"))
		return g.match(g.schemas[i], depth-1)
	}
	if values, ok := s["enum"].([]any); ok && g.chance(85) {
		return pick(g, values...)
	}
	if value, ok := s["const"]; ok && g.chance(90) {
		return value
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		if alternatives, ok := s[keyword].([]any); ok && (len(s) <= 2 || g.chance(50)) {
			return g.match(pick(g, alternatives...), depth)
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
		return g.elements(s, depth-1)
	case "object":
		members := object{}
		properties, _ := s["properties"].(object)
		for _, name := range memberNames {
			if property, ok := properties[name]; ok && g.chance(85) {
				members[name] = g.match(property, depth-1)
			}
		}
		g.rarely(members, 20, pick(g, memberNames...), func() any { return g.value(1) })
		return members
	}
	return g.value(2)
}

func (g *generator) elements(s object, depth int) any {
	prefix, _ := s["prefixItems"].([]any)
	elements := []any{}
	for i := range g.IntN(4) {
		of := s["items"]
		if i < len(prefix) {
			of = prefix[i]
		} else if s["contains"] != nil && g.chance(40) {
			of = s["contains"]
		}
		elements = append(elements, g.match(of, depth))
	}
	return elements
}
