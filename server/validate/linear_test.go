package validate_test

import (
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// hostileShapes are bodies with schemas that could make them expensive. A body is begin, a unit that is repeated, with
// # as the number of the repetition, and end. If around is set, it is inside that 60 times.
var hostileShapes = []struct {
	name, schemas, begin, unit, end string
	around                          [2]string
	memory                          uint64 // allowed bytes for each byte of the body, if not 24
}{
	{name: "small values", schemas: `{"S": {}}`, begin: "[", unit: "1,", end: "1]", memory: 6},
	{name: "small arrays", schemas: `{"S": {}}`, begin: "[", unit: "[],", end: "1]", memory: 6},
	{name: "small members", schemas: `{"S": {}}`, begin: "{", unit: `"p#":1, `, end: `"p":1}`, memory: 6},
	{
		name:    "deep",
		schemas: `{"S": {"items": {"$ref": "#/components/schemas/S"}, "allOf": [{"items": {"$ref": "#/components/schemas/S"}}]}}`,
		begin:   "[", unit: nested(60) + ",", end: "0]",
	},
	{name: "wide object", schemas: `{"S": {"additionalProperties": {"type": "integer"}, "maxProperties": 3}}`, begin: "{", unit: `"p#":1, `, end: `"p":1}`},
	{
		name:    "names in other case",
		schemas: `{"S": {"properties": {"abcdefgh": {}}, "not": {"required": ["a"]}, "additionalProperties": false}}`,
		begin:   "{", unit: `"abcdefgH":0,"p#":1, `, end: `"p":1}`,
	},
	{name: "long name", schemas: `{"S": {"properties": {"a": {}}, "additionalProperties": false}}`, begin: `{"`, unit: "A", end: `":1}`},
	{
		name:    "long string",
		schemas: `{"S": {"minLength": 9, "maxLength": 1, "pattern": "(a|b)*c{1,9}$", "format": "date", "enum": ["a"]}}`,
		begin:   `"`, unit: `\u0061`, end: `"`,
	},
	{
		name: "long address", schemas: `{"S": {"format": "email", "allOf": [{"format": "uri"}, {"format": "date-time"}]}}`,
		begin: `"a`, unit: ":@.%61", end: `"`,
	},
	{name: "long fraction", schemas: `{"S": {"type": "string", "format": "date-time"}}`, begin: `"2026-01-12T00:00:00.`, unit: "0", end: `Z"`},
	{name: "long number", schemas: `{"S": {"type": "number", "minimum": 1, "maximum": 2, "enum": [1]}}`, begin: "1.", unit: "0", end: "1"},
	{name: "long integer", schemas: `{"S": {"type": "integer", "minimum": 1, "maximum": 2}}`, unit: "9"},
	{name: "long exponent", schemas: `{"S": {"type": "number", "minimum": 1}}`, begin: "1e", unit: "9"},
	{name: "long multiple", schemas: `{"S": {"multipleOf": 7e-9}}`, unit: "9", end: "e" + strings.Repeat("9", 30)},
	{
		name: "many violations", schemas: `{"S": {"items": {"type": "string", "allOf": [{"enum": ["a", "b"]}, {"minimum": 7}]}}}`,
		begin: "[", unit: "1,", end: "1]",
	},
	{
		name: "recursive union", schemas: `{
		"S": {"oneOf": [{"$ref": "#/components/schemas/A"}, {"$ref": "#/components/schemas/B"}, {"type": "null"}]},
		"A": {"type": "object", "required": ["k"], "properties": {"k": {"const": "a"}, "s": {"$ref": "#/components/schemas/S"}}},
		"B": {"type": "object", "required": ["k"], "properties": {"k": {"const": "b"}, "s": {"$ref": "#/components/schemas/S"}}}}`,
		begin: `{"x": "`, unit: "x", end: `", "k": "a"}`, around: [2]string{`{"s": `, `, "k": "b"}`},
	},
	{
		name: "union without tags", schemas: `{
		"S": {"items": {"oneOf": [{"$ref": "#/components/schemas/A"}, {"$ref": "#/components/schemas/B"}]}},
		"A": {"type": "object", "required": ["k"], "properties": {"k": {"const": "a"}}},
		"B": {"type": "object", "required": ["k"], "properties": {"k": {"const": "b"}}}}`,
		begin: "[", unit: `{"k":{}},`, end: `{"k":"a"}, {"k"`,
	},
	{
		name: "recursive constant", schemas: `{"S": {"enum": [[[1], {"a": 2}]], "items": {"$ref": "#/components/schemas/S"}}}`,
		begin: "[", unit: "1,", end: "1]", around: [2]string{"[1, ", "]"},
	},
	{
		name: "alternatives that lead to themselves", schemas: `{"S": {"anyOf": [
		{"items": {"$ref": "#/components/schemas/S"}, "maxItems": 0}, {"items": {"$ref": "#/components/schemas/S"}, "not": {"type": "string"}},
		{"items": {"$ref": "#/components/schemas/S"}}]}}`,
		begin: "[", unit: nested(60) + ",", end: "0]", memory: 80,
	},
	{
		name: "conditions that lead to themselves", schemas: `{"S": {"if": {"properties": {"a": {"$ref": "#/components/schemas/S"}}},
		"then": {"properties": {"a": {"$ref": "#/components/schemas/S"}}}, "else": {"properties": {"a": {"$ref": "#/components/schemas/S"}}, "type": "null"},
		"unevaluatedProperties": {"$ref": "#/components/schemas/S"}}}`,
		begin: `{"b": "`, unit: "x", end: `"}`, around: [2]string{`{"a": `, "}"},
	},
	{
		name: "unique elements at each level", schemas: `{"S": {"uniqueItems": true, "items": {"$ref": "#/components/schemas/S"}}}`,
		begin: "[", unit: `"p#", `, end: "1]", around: [2]string{"[", ", 1]"},
	},
	{name: "unique containers", schemas: `{"S": {"uniqueItems": true}}`, begin: "[", unit: `{"p#": []}, `, end: "1]"},
	{name: "small elements", schemas: `{"S": {"items": {"not": {"type": "string"}}, "contains": {"const": 2}}}`, begin: "[", unit: "1,", end: "1]"},
	{
		name:    "small containers",
		schemas: `{"S": {"items": {"anyOf": [{"items": {"$ref": "#/components/schemas/S"}}, {"type": "string"}]}, "unevaluatedItems": false}}`,
		begin:   "[", unit: "[[]],", end: "1]",
	},
	{
		name:    "escaped names",
		schemas: `{"S": {"patternProperties": {"b$": {"type": "null"}}, "propertyNames": {"maxLength": 9}, "unevaluatedProperties": false}}`,
		begin:   "{", unit: `"\u0061p#": 1, `, end: `"p":1}`,
	},
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
		body := []byte(`{"a":1, ` + names(1<<13, func(name string) string { return `"` + name + `":1` }) + ` and what is no JSON`)
		err := failure(t, s.Validate(body))
		if len(err.Violations) != 1 || err.Violations[0].Pointer != "" || err.Violations[0].Keyword != "maxProperties" {
			t.Errorf("%s: %v", schemas, err)
		}
		if work := s.Work(body); work > 3*most {
			t.Errorf("%s: work of %d", schemas, work)
		}
	}
}

// The work and the allocated memory are proportional to the length of the body. The test must not run in parallel with
// others.
func TestSchema_Validate_allocatesLinearly(t *testing.T) {
	for _, shape := range hostileShapes {
		s := compileSchemas(t, shape.schemas)
		for _, n := range []int{1 << 10, 1 << 13, 1 << 16} {
			body := []byte(strings.Repeat(shape.around[0], 60) + shape.begin)
			for i := range n / len(shape.unit) {
				body = append(body, strings.ReplaceAll(shape.unit, "#", strconv.Itoa(i))...)
			}
			body = append(body, shape.end+strings.Repeat(shape.around[1], 60)...)
			if work := s.Work(body); work > 8*len(body)+1000 {
				t.Errorf("%s: work of %d for %d bytes", shape.name, work, len(body))
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_ = s.Validate(body)
			runtime.ReadMemStats(&after)
			if taken := after.TotalAlloc - before.TotalAlloc; taken > cmp.Or(shape.memory, 24)*uint64(len(body))+256<<10 {
				t.Errorf("%s: %d bytes for %d", shape.name, taken, len(body))
			}
		}
	}
}

const lipsyncBody = `{"title":"Greeting","video_url":"https://m.example.com/a.mp4",` +
	`"audio_url":"https://m.example.com/a.wav","webhook":{"enabled":true}}`

// largeBody returns a body of 52 KB.
func largeBody() string { return `{"more":[` + strings.Repeat(lipsyncBody+",", 394) + `0]}` }

func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// minAllocs returns the smallest number of allocations of several calls of f, because a pool may be emptied
// at any time.
func minAllocs(f func()) float64 {
	least := testing.AllocsPerRun(1, f)
	for range 50 {
		least = min(least, testing.AllocsPerRun(1, f))
	}
	return least
}

// Checking a valid body allocates no more than reading it, whatever its size, and the validator does not keep the
// document, whose values take twice as much memory. AllocsPerRun must not run in parallel with other tests.
func TestOperation_Handler_allocatesLikeReadingTheBody(t *testing.T) {
	before := heap()
	v := harness.Try(validate.Load(api.Spec, validate.Config{}))(t)
	if kept := heap() - before; kept > 512<<10 {
		t.Errorf("the validator keeps %d bytes", kept)
	}
	o, _ := v.Operation("POST", "/v1/lipsync/create_lipsync")
	handler := o.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), func(_ http.ResponseWriter, _ *http.Request, err error) { t.Error(err) })
	for name, body := range map[string]string{"small": lipsyncBody, "large": largeBody()} {
		reader, w := strings.NewReader(body), httptest.NewRecorder()
		r := jsonRequest("POST", "/v1/lipsync/create_lipsync", body)
		r.Body = io.NopCloser(reader)
		allocs := minAllocs(func() {
			reader.Reset(body)
			handler.ServeHTTP(w, r)
		})
		t.Logf("%s, %d bytes: %v allocations", name, len(body), allocs)
		if allocs > 1 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
}
