package validate_test

import (
	"cmp"
	"runtime"
	"strings"
	"testing"
)

// hostileShapes are bodies of size n with schemas that could make them expensive.
var hostileShapes = []struct {
	name, schemas string
	body          func(n int) string
	memory        uint64 // allowed bytes for each byte of the body, if not 24
}{
	{"small values", `{"S": {}}`, func(n int) string { return "[" + strings.Repeat("1,", n/2) + "1]" }, 6},
	{"small arrays", `{"S": {}}`, func(n int) string { return "[" + strings.Repeat("[],", n/3) + "1]" }, 6},
	{"small members", `{"S": {}}`, func(n int) string {
		return "{" + names(n/10, func(name string) string { return `"` + name + `":1` }) + "}"
	}, 6},
	{"deep", `{"S": {"items": {"$ref": "#/components/schemas/S"}, "allOf": [{"items": {"$ref": "#/components/schemas/S"}}]}}`, func(n int) string {
		return "[" + strings.Repeat(nested(60)+",", n/100) + "0]"
	}, 0},
	{"wide object", `{"S": {"additionalProperties": {"type": "integer"}, "maxProperties": 3}}`, func(n int) string {
		return "{" + names(n/10, func(name string) string { return `"` + name + `":1` }) + "}"
	}, 0},
	{"names in other case", `{"S": {"properties": {"abcdefgh": {}}, "required": ["abcdefgh"], "additionalProperties": false}}`, func(n int) string {
		return "{" + names(n/20, func(name string) string { return `"abcdefgH":0,"` + name + `":1` }) + "}"
	}, 0},
	{"similar names", `{"S": {"properties": {"abcdefgh": {}}, "additionalProperties": false}}`, func(n int) string {
		return "{" + names(n/20, func(name string) string { return `"abcdefgh` + name + `":1` }) + "}"
	}, 0},
	{"long name", `{"S": {"properties": {"a": {}}, "additionalProperties": false}}`, func(n int) string {
		return `{"` + strings.Repeat("A", n) + `":1}`
	}, 0},
	{"long string", `{"S": {"minLength": 9, "maxLength": 1, "pattern": "(a|b)*c{1,9}$", "format": "date", "enum": ["a"]}}`, func(n int) string {
		return `"` + strings.Repeat(`\u0061`, n/6) + `"`
	}, 0},
	{"long address", `{"S": {"format": "email", "allOf": [{"format": "uri"}, {"format": "date-time"}]}}`, func(n int) string {
		return `"a` + strings.Repeat(":@.%61", n/6) + `"`
	}, 0},
	{"long fraction", `{"S": {"type": "string", "format": "date-time"}}`, func(n int) string {
		return `"2026-01-12T00:00:00.` + strings.Repeat("0", n) + `Z"`
	}, 0},
	{"long number", `{"S": {"type": "number", "minimum": 1, "maximum": 2, "enum": [1]}}`, func(n int) string {
		return "1." + strings.Repeat("0", n) + "1"
	}, 0},
	{"long integer", `{"S": {"type": "integer", "minimum": 1, "maximum": 2}}`, func(n int) string { return strings.Repeat("9", n) }, 0},
	{"long exponent", `{"S": {"type": "number", "minimum": 1}}`, func(n int) string { return "1e" + strings.Repeat("9", n) }, 0},
	{"many violations", `{"S": {"items": {"type": "string", "allOf": [{"enum": ["a", "b"]}, {"minimum": 7}]}}}`, func(n int) string {
		return "[" + strings.Repeat("1,", n/2) + "1]"
	}, 0},
	{"recursive union", `{
		"S": {"oneOf": [{"$ref": "#/components/schemas/A"}, {"$ref": "#/components/schemas/B"}, {"type": "null"}]},
		"A": {"type": "object", "required": ["k"], "properties": {"k": {"const": "a"}, "s": {"$ref": "#/components/schemas/S"}}},
		"B": {"type": "object", "required": ["k"], "properties": {"k": {"const": "b"}, "s": {"$ref": "#/components/schemas/S"}}}}`, func(n int) string {
		body := `{"x": "` + strings.Repeat("x", n) + `", "k": "a"}`
		for range 60 {
			body = `{"s": ` + body + `, "k": "b"}`
		}
		return body
	}, 0},
	{"union without tags", `{
		"S": {"items": {"oneOf": [{"$ref": "#/components/schemas/A"}, {"$ref": "#/components/schemas/B"}]}},
		"A": {"type": "object", "required": ["k"], "properties": {"k": {"const": "a"}}},
		"B": {"type": "object", "required": ["k"], "properties": {"k": {"const": "b"}}}}`, func(n int) string {
		return "[" + strings.Repeat(`{"k":{}},`, n/10) + `{"k":"a"}, {"k"`
	}, 0},
	{"recursive constant", `{"S": {"enum": [[[1], {"a": 2}]], "items": {"$ref": "#/components/schemas/S"}}}`, func(n int) string {
		body := `[` + strings.Repeat("1,", n/2) + `1]`
		for range 60 {
			body = `[1, ` + body + `]`
		}
		return body
	}, 0},
	{"alternatives that lead to themselves", `{"S": {"anyOf": [
		{"items": {"$ref": "#/components/schemas/S"}, "maxItems": 0}, {"items": {"$ref": "#/components/schemas/S"}, "not": {"type": "string"}},
		{"items": {"$ref": "#/components/schemas/S"}}]}}`, func(n int) string {
		return "[" + strings.Repeat(nested(60)+",", n/100) + "0]"
	}, 80},
	{"conditions that lead to themselves", `{"S": {"if": {"properties": {"a": {"$ref": "#/components/schemas/S"}}}, "then": {"properties": {"a": {"$ref": "#/components/schemas/S"}}},
		"else": {"properties": {"a": {"$ref": "#/components/schemas/S"}}, "type": "null"}, "unevaluatedProperties": {"$ref": "#/components/schemas/S"}}}`, func(n int) string {
		body := `{"b": "` + strings.Repeat("x", n) + `"}`
		for range 60 {
			body = `{"a": ` + body + `}`
		}
		return body
	}, 0},
	{"unique elements at each level", `{"S": {"uniqueItems": true, "items": {"$ref": "#/components/schemas/S"}}}`, func(n int) string {
		body := "[" + names(n/10, func(name string) string { return `"` + name + `"` }) + "]"
		for range 60 {
			body = "[" + body + ", 1]"
		}
		return body
	}, 0},
	{"unique containers", `{"S": {"uniqueItems": true}}`, func(n int) string {
		return "[" + names(n/10, func(name string) string { return `{"` + name + `": []}` }) + "]"
	}, 0},
	{"small elements", `{"S": {"items": {"not": {"type": "string"}}, "contains": {"const": 2}}}`, func(n int) string {
		return "[" + strings.Repeat("1,", n/2) + "1]"
	}, 0},
	{"small containers", `{"S": {"items": {"anyOf": [{"items": {"$ref": "#/components/schemas/S"}}, {"type": "string"}]}, "unevaluatedItems": false}}`, func(n int) string {
		return "[" + strings.Repeat("[[]],", n/5) + "1]"
	}, 0},
	{"escaped names", `{"S": {"patternProperties": {"b$": {"type": "null"}}, "propertyNames": {"maxLength": 9}, "unevaluatedProperties": false}}`, func(n int) string {
		return "{" + names(n/20, func(name string) string { return `"\u0061` + name + `": 1` }) + "}"
	}, 0},
	{"many names in other case", `{"S": {"properties": {"abcdefgh": {}}, "not": {"required": ["a"]}}}`, func(n int) string {
		return "{" + names(n/20, func(name string) string { return `"abcdefgH":0,"` + name + `":1` }) + "}"
	}, 0},
	{"long multiple", `{"S": {"multipleOf": 7e-9}}`, func(n int) string { return strings.Repeat("9", n) + "e" + strings.Repeat("9", 30) }, 0},
}

// The work is proportional to the length of the body.
func TestSchema_Validate_worksInLinearTime(t *testing.T) {
	t.Parallel()
	for _, shape := range hostileShapes {
		t.Run(shape.name, func(t *testing.T) {
			t.Parallel()
			s := compileSchemas(t, shape.schemas)
			for _, n := range []int{1 << 10, 1 << 13, 1 << 16} {
				body := []byte(shape.body(n))
				if work := s.Work(body); work > 8*len(body)+1000 {
					t.Errorf("%d for %d bytes", work, len(body))
				}
			}
		})
	}
}

// After the first member over maxProperties, no more members of an object are read.
func TestSchema_Validate_stopsAtMaxProperties(t *testing.T) {
	t.Parallel()
	for schemas, most := range map[string]int{
		`{"S": {"properties": {"a": {"type": "integer"}}, "maxProperties": 1000}}`: 1000,
		`{"S": {"maxProperties": 2000, "allOf": [{"maxProperties": 1000}]}}`:       1000,
		`{"S": {"maxProperties": 3}}`:                                              100, // all violations of small objects are reported
	} {
		s := compileSchemas(t, schemas)
		body := []byte(`{"a":1, ` + names(1<<16, func(name string) string { return `"` + name + `":1` }) + ` and what is no JSON`)
		err := failure(t, s.Validate(body))
		if len(err.Violations) != 1 || err.Violations[0].Pointer != "" || err.Violations[0].Keyword != "maxProperties" {
			t.Errorf("%s: %v", schemas, err)
		}
		if work := s.Work(body); work > 3*most {
			t.Errorf("%s: work of %d", schemas, work)
		}
	}
}

// raceEnabled is true under the race detector, where sync.Pool drops items at random.
var raceEnabled bool

// The allocated memory is proportional to the length of the body. The test must not run in parallel with
// others.
func TestSchema_Validate_allocatesLinearly(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector lets sync.Pool forget: make test measures this without it")
	}
	for _, shape := range hostileShapes {
		t.Run(shape.name, func(t *testing.T) {
			s := compileSchemas(t, shape.schemas)
			for _, n := range []int{1 << 10, 1 << 13, 1 << 17} {
				body := []byte(shape.body(n))
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_ = s.Validate(body)
				runtime.ReadMemStats(&after)
				if taken := after.TotalAlloc - before.TotalAlloc; taken > cmp.Or(shape.memory, 24)*uint64(len(body))+256<<10 {
					t.Errorf("%d bytes for %d", taken, len(body))
				}
			}
		})
	}
}
