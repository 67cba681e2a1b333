package validate_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// combinations are schemas of others, which stand for %s.
var combinations = []string{
	`{"allOf": [%s, %s]}`, `{"anyOf": [%s, %s]}`, `{"oneOf": [%s, %s]}`, `{"not": %s}`, `{"if": %s, "then": %s, "else": %s}`,
	`{"anyOf": [%s, {"type": "null"}]}`, `{"oneOf": [%s, {"type": "object", "required": ["foo"]}, %s]}`,
	`{"anyOf": [%s, %s], "unevaluatedProperties": %s}`, `{"allOf": [%s], "if": %s, "unevaluatedItems": %s}`,
	`{"properties": {"foo": %s, "bar": %s}, "additionalProperties": %s}`, `{"prefixItems": [%s], "items": %s, "contains": %s}`,
	`{"dependentSchemas": {"foo": %s}, "patternProperties": {"^b": %s}, "unevaluatedProperties": %s}`,
	`{"oneOf": [{"type": "object", "required": ["foo"], "properties": {"foo": {"const": "a"}, "bar": %s}},
		{"type": "object", "required": ["foo"], "properties": {"foo": {"const": "b"}, "bar": %s}}]}`,
	`{"oneOf": [{"type": "object", "properties": {"foo": {"const": "a"}}}, {"type": "object", "properties": {"foo": {"const": "b"}, "bar": %s}}]}`,
	`{"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 2}, {"type": "array", "items": %s}]}`,
}

// ownParts and ownValues are combined with those of the suite, or alone if it is not here.
var (
	ownParts = []string{
		`{"type": "integer", "minimum": 2}`, `{"items": {"type": "string"}}`, `{"required": ["foo"], "maxProperties": 1}`, `{"enum": ["a", 1, null]}`,
	}
	ownValues = []string{`1`, `2.5`, `"a"`, `""`, `true`, `null`, `[]`, `["a"]`, `[1, 1]`, `{}`, `{"foo": "a"}`, `{"foo": 1, "bar": null}`}
)

// wholes are values of others, which stand for %s.
var wholes = []string{`%s`, `%s`, `[%s, %s]`, `{"foo": %s}`, `{"foo": %s, "bar": %s}`, `{"foo": "a", "bar": %s}`, `{"baz": %s, "foo": "b"}`, `null`}

// Random combinations of schemas accept those values, and those combinations of values, that an
// independent implementation of JSON Schema accepts.
func TestSchema_Validate_agreesWithAnotherImplementation(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it compares thousands of values")
	const schemas, perSchema = 400, 40
	parts, values := slices.Clone(ownParts), slices.Clone(ownValues)
	unlike := regexp.MustCompile(`[0-9](\.0|[eE])|[0-9]{16}`) // numbers that deviate: see goInteger
	for _, groups := range readSuite(t, "*.json") {
		for _, group := range groups {
			schema := strings.Replace(string(group.Schema), `"$schema": "https://json-schema.org/draft/2020-12/schema",`, "", 1)
			_, err := compileSuiteSchema(t, []byte(schema), nil)
			if err != nil || strings.Contains(schema, `"$`) || strings.Contains(schema, `"format"`) {
				continue
			}
			parts = append(parts, schema)
			for _, test := range group.Tests {
				if !unlike.Match(test.Data) {
					values = append(values, string(test.Data))
				}
			}
		}
	}
	slices.Sort(parts) // the files have no order
	slices.Sort(values)
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(from []string) string { return from[random.IntN(len(from))] }
	fill := func(form string, part func() string) string {
		var all []any
		for range strings.Count(form, "%s") {
			all = append(all, part())
		}
		return fmt.Sprintf(form, all...)
	}
	var combine func() string
	combine = func() string {
		if random.IntN(3) > 0 {
			return pick(parts)
		}
		return fill(pick(combinations), combine)
	}
	valid := 0
	for range schemas {
		schema := fill(pick(combinations), combine)
		mine, theirs := compileSchemas(t, `{"S": `+schema+`}`), compileTheirs(t, schema)
		for range perSchema {
			value := fill(pick(wholes), func() string { return pick(values) })
			decoded := harness.Try(jsonschema.UnmarshalJSON(strings.NewReader(value)))(t)
			got, want := failure(t, mine.Validate([]byte(value))), theirs.Validate(decoded)
			if want == nil {
				valid++
			}
			if (got == nil) != (want == nil) && !strings.Contains(violations(got), " case") { // which JSON Schema ignores
				t.Fatalf("%s\n%s\nhere: %v\nthere: %v", schema, value, got, want)
			}
		}
	}
	if pairs := schemas * perSchema; valid < pairs/10 || valid > pairs*9/10 {
		t.Errorf("%d of %d values are valid, which proves little", valid, pairs)
	}
}

func compileTheirs(t *testing.T, schema string) *jsonschema.Schema {
	t.Helper()
	value := harness.Try(jsonschema.UnmarshalJSON(strings.NewReader(schema)))(t)
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	harness.Check(t, compiler.AddResource("urn:document", value))
	return harness.Try(compiler.Compile("urn:document"))(t)
}
