package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// A Go type holds all values that a schema allows, and that of an allOf what all of its parts allow.
func TestShape_holdsAllValues(t *testing.T) {
	t.Parallel()
	types := map[string]string{ // of a member, and the constants of its type
		"{allOf: [{type: number}, {type: integer}]}":                                                               "int",
		"{allOf: [{type: integer}, {type: number}]}":                                                               "int",
		"{type: number, allOf: [{type: integer}]}":                                                                 "int",
		"{allOf: [{type: number, format: double}, {type: integer}]}":                                               "int",
		"{allOf: [{type: number, format: double}, {type: integer, format: int64}]}":                                "int64",
		"{allOf: [{type: integer, format: int64}, {minimum: 1}]}":                                                  "int64",
		"{allOf: [{type: integer, format: int64}], minimum: 1}":                                                    "int64",
		"{allOf: [{type: integer, format: int64}, {type: integer, minimum: 1}]}":                                   "int64",
		"{allOf: [{$ref: '#/components/schemas/Long'}, {minimum: 1}]}":                                             "Long",
		"{allOf: [{$ref: '#/components/schemas/Long'}, {description: better}]}":                                    "Long",
		"{allOf: [{$ref: '#/components/schemas/Long'}, {type: [integer, string]}]}":                                "int64",
		"{allOf: [{type: string, format: date-time}, {description: better}]}":                                      "time.Time",
		"{allOf: [{type: string, format: date-time}, {type: string, minLength: 1}]}":                               "time.Time",
		"{allOf: [{type: string}, {format: date-time}]}":                                                           "time.Time",
		"{allOf: [{type: [string, integer, 'null']}, {type: [integer, boolean, 'null']}]}":                         "int",
		"{allOf: [{enum: [a, b, c]}, {enum: [a, b]}]}":                                                             "a b",
		"{enum: [a, b, c], allOf: [{enum: [c, b]}]}":                                                               "b c",
		"{allOf: [{$ref: '#/components/schemas/Abc'}, {enum: [a, b]}]}":                                            "a b",
		"{allOf: [{$ref: '#/components/schemas/Abc'}, {const: c}]}":                                                "c",
		"{allOf: [{const: c}, {$ref: '#/components/schemas/Abc'}, {type: string}]}":                                "c",
		"{allOf: [{type: string}, {enum: [a, 1]}]}":                                                                "a",
		"{type: string, format: byte, enum: [YQ, null]}":                                                           "YQ",
		"{allOf: [{type: string, format: date}, {const: '2026'}]}":                                                 "2026",
		"{allOf: [{type: [string, 'null']}, {enum: [a, b, null]}, {enum: [null, b]}]}":                             "b",
		"{allOf: [{type: integer, enum: [9007199254740993, 1000000]}], enum: [1e6, 9007199254740993]}":             "1e6 9007199254740993",
		"{allOf: [{type: number, enum: [1, 1.5]}, {type: integer}]}":                                               "1",
		"{allOf: [{type: integer, enum: [1, 2, 3]}, {type: integer, enum: [2.0, 3]}]}":                             "2 3",
		"{allOf: [{type: array, items: {type: number}}, {items: {type: integer}}]}":                                "[]int",
		"{allOf: [{type: object, additionalProperties: {type: number}}, {additionalProperties: {type: integer}}]}": "map[string]int",
		"{allOf: [{type: object, additionalProperties: {type: number}}, {required: [a]}]}":                         "map[string]float64",
		"{$ref: '#/components/schemas/Abc', enum: [a]}":                                                            "a",
		"{$ref: '#/components/schemas/Long', minimum: 1}":                                                          "Long",
		"{type: object, additionalProperties: {type: number}, patternProperties: {^x: {type: string}}}":            "map[string]json.RawMessage",
		"{type: array, items: {type: integer}, prefixItems: [{type: string}]}":                                     "[]json.RawMessage",

		"{type: number}":                          "float64",
		"{type: number, format: float}":           "float32",
		"{type: integer, format: uint64}":         "uint64",
		"{type: string, format: email}":           "string",
		"{type: string, format: duration}":        "string",
		"{type: string, contentEncoding: base64}": "string",
		"{}":                                "json.RawMessage",
		"{description: any}":                "json.RawMessage",
		"{type: [string, integer, 'null']}": "json.RawMessage",
		"{type: [string, integer], enum: [a, 1]}": "json.RawMessage",
		"{type: array}":                                        "[]json.RawMessage",
		"{type: array, items: {}}":                             "[]json.RawMessage",
		"{type: array, items: {type: [number, boolean]}}":      "[]json.RawMessage",
		"{type: object}":                                       "map[string]json.RawMessage",
		"{type: [object, 'null']}":                             "map[string]json.RawMessage",
		"{type: object, additionalProperties: true}":           "map[string]json.RawMessage",
		"{type: object, additionalProperties: {}}":             "map[string]json.RawMessage",
		"{type: object, additionalProperties: {type: number}}": "map[string]float64",
		"{anyOf: [{type: number}, {type: 'null'}]}":            "float64",
	}
	schemas, properties := propertiesOf(types)
	f, err := generated(t, "  {}", "    Values:\n      type: object\n      properties:\n"+properties+`
    Long: {type: integer, format: int64}
    Abc: {enum: [a, b, c]}
    Mood: {type: [integer, 'null'], enum: [9007199254740993, 1000000, null]}
    Kind: {const: dog}
    Typeless: {properties: {a: {type: string}}}
    Size: {enum: [small, large, null]}
    Others: {type: object, properties: {a: {type: string}}, additionalProperties: {type: number}}
    Beside: {$ref: '#/components/schemas/Typeless', properties: {b: {$ref: '#/components/schemas/Beside', required: [a]}}}
    Then: {allOf: [{$ref: '#/components/schemas/Typeless'}, {if: {required: [a]}, then: {properties: {c: {type: string}}}}]}
    Same: {allOf: [{$ref: '#/components/schemas/Typeless'}, {if: {required: [a]}, else: {properties: {a: false}}}]}
    Pattern: {properties: {d: {type: string}}, patternProperties: {^x: {type: string}}, additionalProperties: false}
    Unevaluated: {properties: {e: {type: string}}, unevaluatedProperties: {type: integer}}
    Dependent: {properties: {f: {type: string}}, dependentRequired: {f: [g]}}
`)
	harness.Check(t, err)
	code := string(f["gen/api.gen.go"])
	for i, schema := range schemas {
		field := regexp.MustCompile(fmt.Sprintf(`\tP%02d +\*?(\S+) `, i)).FindStringSubmatch(code)
		if field == nil {
			t.Errorf("%s has no field", schema)
			continue
		}
		got := field[1]
		if constants := regexp.MustCompile(`\t\w+ +`+regexp.QuoteMeta(got)+` = "?(\w+)"?\n`).FindAllStringSubmatch(code, -1); len(constants) > 0 {
			got = ""
			for _, constant := range constants {
				got += " " + constant[1]
			}
			got = got[1:]
		}
		if got != types[schema] {
			t.Errorf("%s is %s, want %s", schema, got, types[schema])
		}
	}
	const rest = `\tAdditionalProperties +map\[string\]json.RawMessage `
	for _, want := range []string{
		`MoodN9007199254740993 +Mood = 9007199254740993\n`, `MoodN1000000 +Mood = 1000000\n`, `KindDog Kind = "dog"\n`, `type Typeless struct {\n`,
		`type Size string\n`, `AdditionalProperties map\[string\]float64 `, `type Beside struct \{\n\tA .*\n\tB \*BesideB+ `, `type BesideB+ struct \{\n\tA string `, `type Same = Typeless\n`,
		`type Then struct \{\n\tA .*\n` + rest, `type Pattern struct \{\n\tD .*\n` + rest, `type Unevaluated struct \{\n\tE .*\n` + rest, `type Dependent struct \{\n\tF .*\n` + rest,
	} {
		if !regexp.MustCompile(want).MatchString(code) {
			t.Errorf("the code does not match %s", want)
		}
	}
}

// propertiesOf returns schemas in order, and the properties p00, p01 and so on that have them.
func propertiesOf(types map[string]string) (schemas []string, properties string) {
	schemas = slices.Sorted(maps.Keys(types))
	for i, schema := range schemas {
		properties += fmt.Sprintf("        p%02d: %s\n", i, schema)
	}
	return schemas, properties
}

// A member is nullable if all parts of its schema allow null.
func TestShape_isNullableIfAllPartsAre(t *testing.T) {
	t.Parallel()
	types := map[string]string{
		"{type: [integer, 'null'], allOf: [{enum: [1, 2]}]}":                                          "*",
		"{type: [integer, 'null'], allOf: [{enum: [1, 2, null]}]}":                                    "Nullable[",
		"{allOf: [{enum: [1, 2, null]}, {type: [integer, 'null'], enum: [2, 1]}]}":                    "*",
		"{type: [string, 'null'], allOf: [{const: a}]}":                                               "*",
		"{type: [string, 'null'], allOf: [{enum: [a, null]}]}":                                        "Nullable[",
		"{allOf: [{anyOf: [{enum: [a, b]}, {type: 'null'}]}, {description: b}]}":                      "Nullable[",
		"{allOf: [{anyOf: [{enum: [a, b]}, {type: 'null'}]}, {enum: [a, null]}]}":                     "Nullable[",
		"{type: [integer, 'null'], enum: [1, 2]}":                                                     "*",
		"{enum: [a, b], anyOf: [{type: string}, {type: 'null'}]}":                                     "*",
		"{enum: [a, null], anyOf: [{type: string}, {type: 'null'}]}":                                  "Nullable[",
		"{allOf: [{enum: [a, b]}, {anyOf: [{type: string}, {type: 'null'}]}]}":                        "*",
		"{allOf: [{anyOf: [{type: string}, {type: 'null'}]}, {const: a}]}":                            "*",
		"{type: string, oneOf: [{type: string}, {type: 'null'}]}":                                     "*",
		"{type: [string, integer], oneOf: [{type: string}, {type: integer}, {type: 'null'}]}":         "*",
		"{type: [string, integer, 'null'], oneOf: [{type: string}, {type: integer}, {type: 'null'}]}": "Nullable[",
		"{allOf: [{type: [integer, 'null']}, {type: integer}]}":                                       "*",
		"{allOf: [{type: [integer, 'null'], minimum: 1}, {type: [number, 'null']}]}":                  "Nullable[",
	}
	schemas, properties := propertiesOf(types)
	f, err := generated(t, "  /a: { put: { operationId: a, responses: { '204': { description: d } }, requestBody: { required: true, content: { application/json: { schema: { $ref: '#/components/schemas/A' } } } } } }",
		"    A:\n      type: object\n      properties:\n"+properties)
	harness.Check(t, err)
	for i, schema := range schemas {
		field := regexp.MustCompile(fmt.Sprintf(`\tP%02d +(\*|Nullable\[)`, i)).FindStringSubmatch(string(f["gen/api.gen.go"]))
		if field == nil || field[1] != types[schema] {
			t.Errorf("%s is %s, want %s", schema, field, types[schema])
		}
	}
}
