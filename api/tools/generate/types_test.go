package main

import (
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// The settings and templates have paths relative to the root of the module.
func TestMain(m *testing.M) {
	if err := os.Chdir("../../.."); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

var oneAtATime sync.Mutex // oapi-codegen has global state

// generated generates code from a document. paths and components are in YAML.
func generated(t *testing.T, paths, components string) (files, error) {
	t.Helper()
	if !strings.Contains(paths, "\ncomponents:\n") {
		paths += "\ncomponents:"
	}
	text := "openapi: 3.1.1\ninfo: {title: t, version: '1'}\npaths:\n" + paths + "\n  schemas:\n" + components + "\n"
	if !strings.Contains(components, "    Event:") {
		text += "    Event: { type: object, required: [event_type, data], properties: { event_type: { $ref: '#/components/schemas/EventType' }, data: {} } }\n"
	}
	if !strings.Contains(text, "EventType:") {
		text += "    EventType: { type: string }\n"
	}
	return generatedFrom(t, text)
}

func TestTypes_holdAllValues(t *testing.T) {
	t.Parallel()
	var properties strings.Builder
	types := map[string]string{
		"{type: number}":                          "*float64",
		"{type: number, format: float}":           "*float32",
		"{type: integer, format: uint64}":         "*uint64",
		"{type: string, format: email}":           "*string",
		"{type: string, format: duration}":        "*string",
		"{type: string, contentEncoding: base64}": "*string",
		"{}":                                "json.RawMessage",
		"{description: any}":                "json.RawMessage",
		"{type: [string, integer, 'null']}": "json.RawMessage",
		"{type: [string, integer], enum: [a, 1]}": "json.RawMessage",
		"{type: array}":                                        "*[]json.RawMessage",
		"{type: array, items: {}}":                             "*[]json.RawMessage",
		"{type: array, items: {type: [number, boolean]}}":      "*[]json.RawMessage",
		"{type: object}":                                       "*map[string]json.RawMessage",
		"{type: [object, 'null']}":                             "*map[string]json.RawMessage",
		"{type: object, additionalProperties: true}":           "*map[string]json.RawMessage",
		"{type: object, additionalProperties: {}}":             "*map[string]json.RawMessage",
		"{type: object, additionalProperties: {type: number}}": "*map[string]float64",
		"{anyOf: [{type: number}, {type: 'null'}]}":            "*float64",
	}
	names := map[string]string{}
	for schema := range types {
		name := "p" + string(rune('a'+len(names)))
		names[schema] = "P" + name[1:]
		properties.WriteString("        " + name + ": " + schema + "\n")
	}
	f, err := generated(t, "  {}", "    Values:\n      type: object\n      properties:\n"+properties.String()+`
    Mood: {type: [integer, 'null'], enum: [9007199254740993, 1000000, null]}
    Kind: {const: dog}
    Typeless: {properties: {a: {type: string}}}
    Size: {enum: [small, large, null]}
    Others: {type: object, properties: {a: {type: string}}, additionalProperties: {type: number}}
`)
	harness.Check(t, err)
	code := string(f["gen/api.gen.go"])
	for schema, want := range types {
		field := regexp.MustCompile(`\t` + names[schema] + ` +(\S+) `).FindStringSubmatch(code)
		if field == nil || field[1] != want {
			t.Errorf("%s has the type %q, want %s", schema, field, want)
		}
	}
	for _, want := range []string{
		`MoodN9007199254740993 +Mood = 9007199254740993\n`, `MoodN1000000 +Mood = 1000000\n`, `KindDog Kind = "dog"\n`, `type Typeless struct {\n`,
		`type Size string\n`, `AdditionalProperties map\[string\]float64 `,
	} {
		if !regexp.MustCompile(want).MatchString(code) {
			t.Errorf("the code does not match %s", want)
		}
	}
}
