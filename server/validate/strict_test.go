package validate_test

import (
	"strings"
	"testing"
)

const (
	malformed = "The body is not valid JSON."
	tooDeep   = "The JSON is nested more than 64 levels deep."
)

// FuzzSchema has more texts that are not I-JSON.
func TestSchema_Validate_rejectsLaxJSON(t *testing.T) {
	t.Parallel()
	s := compileSchemas(t, `{"S": {"type": ["object", "array", "string"], "properties": {
		"password": {"type": "string"}, "ſKey": {}, "list": {"type": "array", "items": {"$ref": "#/components/schemas/S"}}},
		"allOf": [{"properties": {"PIN": {}, "pin": {}}}]}}`)
	checkBodies(t, s, map[string]string{
		"":                                     " required",
		"[[\"\xc3\"]]":                         malformed,
		`{"\udc00": 1}`:                        malformed,
		"\"a\nb\"":                             malformed,
		`{"password": "a", "password": "b"}`:   "/password duplicate",
		`{"password": 1, "pass\u0077ord": 2}`:  "/password type, /password duplicate",
		`{"x": 1, "x": 2}`:                     " duplicate",
		`{"list": [{"x": {"y": 1, "y": 2}}]}`:  "/list/0/* duplicate",
		`{"list": [{}, {"pin": 1, "pin": 2}]}`: "/list/1/pin duplicate",
		`{"PASSWORD": "a"}`:                    "/password case",
		`{"password": "a", "Password": 1}`:     "/password case",
		`{"pa\u017f\u017fword": "a"}`:          "/password case",
		`{"SKEY": 1}`:                          "/ſKey case",
		`{"s\u212aey": 1}`:                     "/ſKey case",
		`{"PIN": 1, "pin": 2}`:                 "ok",
		`{"other": {"PASSWORD": 1}}`:           "ok",
		`{"pin": 1, "pin"`:                     "/pin duplicate",
		`{"pin": 1, "pin": {"x": 1, "x": }`:    "/pin duplicate",
		`[{"pin": {"x": 1, "x": 1}, "pin"}`:    "/0/* duplicate",
		`{"password": 1, `:                     malformed,
		nested(64):                             "ok",
		nested(65):                             tooDeep,
		`{"x": ` + nested(63) + `}`:            "ok",
		`{"x": ` + nested(64) + `}`:            tooDeep,
		strings.Repeat(`{"a":`, 100):           tooDeep,
	})
}

// An error of syntax says where it is, in characters.
func TestSchema_Validate_saysWhereJSONEnds(t *testing.T) {
	t.Parallel()
	s := compileSchemas(t, `{"S": {"type": "object"}}`)
	for body, want := range map[string]string{
		"{'title': 1}":                          "line 1, column 2.",
		"{\"title\": \"Ada\",\n \"webhook\": }": "line 2, column 13.",
		"{\n\t\"ü\": \"é\", }":                  "line 2, column 12.",
		"{\"a\": 1}{}":                          "line 1, column 9.",
		"{\"a\": [\r\n1,\r\n2":                  "line 3, column 2.",
		"{\"a\": tru}":                          "line 1, column 7.",
		"{\"\xc3\": 1, \"b\" 2}":                "line 1, column 2.",
	} {
		if err := failure(t, s.Validate([]byte(body))); err == nil || err.Detail != "The body is not valid JSON at "+want {
			t.Errorf("%q: %v, want %s", body, err, want)
		}
	}
}

// Violations are reported in the order of the body.
func TestSchema_Validate_reportsDetailsInOrder(t *testing.T) {
	t.Parallel()
	s := compileSchemas(t, `{"S": {"type": "object", "required": ["id"], "additionalProperties": false, "maxProperties": 9, "properties": {
		"id": {"type": ["string", "null"]},
		"kind": {"type": "string", "enum": ["a", "b\"c"]},
		"one": {"const": {"x": 1}},
		"text": {"type": "string", "minLength": 2, "maxLength": 3, "pattern": "^[a-z]*$"},
		"count": {"type": "integer", "minimum": 1, "exclusiveMaximum": 2.5},
		"list": {"type": "array", "minItems": 1},
		"map": {"type": "object", "minProperties": 1},
		"when": {"type": "string", "format": "date-time"},
		"size": {"type": "integer", "format": "int32"}}}}`)
	err := failure(t, s.Validate([]byte(`{"kind": "x", "one": 1, "text": "ABCD", "count": 0, "list": [], "map": {}, "when": "now", "size": 3000000000, "ID": 1, "new": 1}`)))
	want := []string{
		`/kind enum: must be one of "a", "b\"c"`,
		`/one const: must be {"x":1}`,
		`/text maxLength: must have 3 or fewer characters`,
		`/text pattern: must match ^[a-z]*$`,
		`/count minimum: must be at least 1`,
		`/list minItems: must have 1 or more elements`,
		`/map minProperties: must have 1 or more members`,
		`/when format: must be a date and time of RFC 3339`,
		`/size format: must fit 32 bits`,
		`/id case: must be written "id"`,
		` additionalProperties: must have no members but those of the document`,
		`/id required: is required`,
		` maxProperties: must have 9 or fewer members`,
	}
	var got []string
	for _, v := range err.Violations {
		got = append(got, v.Pointer+" "+v.Keyword+": "+v.Detail)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s", strings.Join(got, "\n"))
	}
	err = failure(t, s.Validate([]byte(`{"id": 1, "count": 3}`)))
	if got := err.Error(); got != "validate: The value does not match the document. [/id must be null or a string] [/count must be less than 2.5]" {
		t.Error(got)
	}
}

func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
