package validate_test

import (
	"runtime"
	"strings"
	"testing"
)

// hostileShapes are bodies that grow with n, each with schemas that make the most of them.
var hostileShapes = []struct {
	name, schemas string
	body          func(n int) string
}{
	{"deep", `{"S": {"items": {"$ref": "#/components/schemas/S"}, "allOf": [{"items": {"$ref": "#/components/schemas/S"}}]}}`, func(n int) string {
		return "[" + strings.Repeat(nested(60)+",", n/100) + "0]"
	}},
	{"wide object", `{"S": {"additionalProperties": {"type": "integer"}, "maxProperties": 3}}`, func(n int) string {
		return "{" + names(n/10, func(name string) string { return `"` + name + `":1` }) + "}"
	}},
	{"names in other case", `{"S": {"properties": {"abcdefgh": {}}, "required": ["abcdefgh"], "additionalProperties": false}}`, func(n int) string {
		return "{" + names(n/20, func(name string) string { return `"abcdefgH":0,"` + name + `":1` }) + "}"
	}},
	{"similar names", `{"S": {"properties": {"abcdefgh": {}}, "additionalProperties": false}}`, func(n int) string {
		return "{" + names(n/20, func(name string) string { return `"abcdefgh` + name + `":1` }) + "}"
	}},
	{"long name", `{"S": {"properties": {"a": {}}, "additionalProperties": false}}`, func(n int) string {
		return `{"` + strings.Repeat("A", n) + `":1}`
	}},
	{"long string", `{"S": {"minLength": 9, "maxLength": 1, "pattern": "(a|b)*c{1,9}$", "format": "date", "enum": ["a"]}}`, func(n int) string {
		return `"` + strings.Repeat(`\u0061`, n/6) + `"`
	}},
	{"long address", `{"S": {"format": "email", "allOf": [{"format": "uri"}, {"format": "date-time"}]}}`, func(n int) string {
		return `"a` + strings.Repeat(":@.%61", n/6) + `"`
	}},
	{"long fraction", `{"S": {"type": "string", "format": "date-time"}}`, func(n int) string {
		return `"2026-01-12T00:00:00.` + strings.Repeat("0", n) + `Z"`
	}},
	{"long number", `{"S": {"type": "number", "minimum": 1, "maximum": 2, "enum": [1]}}`, func(n int) string {
		return "1." + strings.Repeat("0", n) + "1"
	}},
	{"long integer", `{"S": {"type": "integer", "minimum": 1, "maximum": 2}}`, func(n int) string { return strings.Repeat("9", n) }},
	{"long exponent", `{"S": {"type": "number", "minimum": 1}}`, func(n int) string { return "1e" + strings.Repeat("9", n) }},
	{"many violations", `{"S": {"items": {"type": "string", "allOf": [{"enum": ["a", "b"]}, {"minimum": 7}]}}}`, func(n int) string {
		return "[" + strings.Repeat("1,", n/2) + "1]"
	}},
	{"recursive union", `{
		"S": {"oneOf": [{"$ref": "#/components/schemas/A"}, {"$ref": "#/components/schemas/B"}, {"type": "null"}]},
		"A": {"type": "object", "required": ["k"], "properties": {"k": {"const": "a"}, "s": {"$ref": "#/components/schemas/S"}}},
		"B": {"type": "object", "required": ["k"], "properties": {"k": {"const": "b"}, "s": {"$ref": "#/components/schemas/S"}}}}`, func(n int) string {
		body := `{"x": "` + strings.Repeat("x", n) + `", "k": "a"}`
		for range 60 {
			body = `{"s": ` + body + `, "k": "b"}`
		}
		return body
	}},
	{"union without tags", `{
		"S": {"items": {"oneOf": [{"$ref": "#/components/schemas/A"}, {"$ref": "#/components/schemas/B"}]}},
		"A": {"type": "object", "required": ["k"], "properties": {"k": {"const": "a"}}},
		"B": {"type": "object", "required": ["k"], "properties": {"k": {"const": "b"}}}}`, func(n int) string {
		return "[" + strings.Repeat(`{"k":{}},`, n/10) + `{"k":"a"}, {"k"`
	}},
	{"recursive constant", `{"S": {"enum": [[[1], {"a": 2}]], "items": {"$ref": "#/components/schemas/S"}}}`, func(n int) string {
		body := `[` + strings.Repeat("1,", n/2) + `1]`
		for range 60 {
			body = `[1, ` + body + `]`
		}
		return body
	}},
}

// The work for a body is in proportion to its length, whatever is in it.
func TestSchema_Validate_linearWork(t *testing.T) {
	t.Parallel()
	for _, shape := range hostileShapes {
		t.Run(shape.name, func(t *testing.T) {
			t.Parallel()
			s := compileSchemas(t, shape.schemas)
			for _, n := range []int{1 << 10, 1 << 13, 1 << 16} {
				body := []byte(shape.body(n))
				if work := s.Work(body); work > 6*len(body)+1000 {
					t.Errorf("%d for %d bytes", work, len(body))
				}
			}
		})
	}
}

// So is the memory that is taken. It is measured alone, without others in parallel.
func TestSchema_Validate_linearMemory(t *testing.T) {
	for _, shape := range hostileShapes {
		t.Run(shape.name, func(t *testing.T) {
			s := compileSchemas(t, shape.schemas)
			for _, n := range []int{1 << 10, 1 << 13, 1 << 16} {
				body := []byte(shape.body(n))
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_ = s.Validate(body)
				runtime.ReadMemStats(&after)
				if taken := after.TotalAlloc - before.TotalAlloc; taken > 32*uint64(len(body))+64<<10 {
					t.Errorf("%d bytes for %d", taken, len(body))
				}
			}
		})
	}
}
