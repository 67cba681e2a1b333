package main

import (
	"go/parser"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

const models = `package gen

const (
	ModeFast Mode = "fast"
)

type Mode string
type Name = string
type Count int32
type Inner struct {
	Enabled *bool ` + "`json:\"enabled,omitempty\"`" + `
}
type Outer struct {
	ID    Name            ` + "`json:\"id\"`" + `
	Mode  Nullable[Mode]  ` + "`json:\"mode,omitzero\"`" + `
	Modes []Mode          ` + "`json:\"modes\"`" + `
	Inner Nullable[Inner] ` + "`json:\"inner,omitzero\"`" + `
	Count *Count          ` + "`json:\"count,omitempty\"`" + `
	At    time.Time       ` + "`json:\"at\"`" + `
}
`

func TestLiterals_convertJSONToGo(t *testing.T) {
	t.Parallel()
	l, err := newLiterals([]byte(models))
	harness.Check(t, err)
	for _, test := range []struct {
		name, of string
		value    any
		want     string // empty for an error
	}{
		{"string with quotes", "gen.Name", "a \"b\"\n", `"a \"b\"\n"`},
		{"constant", "Mode", "fast", "gen.ModeFast"},
		{"value of an open enum", "Mode", "slow", `gen.Mode("slow")`},
		{"number with a type", "int64", float64(3), "int64(3)"},
		{"null", "Nullable[Mode]", nil, "gen.Null[gen.Mode]()"},
		{"object", "Outer", map[string]any{
			"id": "a", "mode": "fast", "modes": []any{"fast"}, "inner": map[string]any{"enabled": true}, "count": float64(2),
		}, "gen.Outer{\nID: \"a\",\nMode: gen.Value(gen.ModeFast),\nModes: []gen.Mode{gen.ModeFast},\n" +
			"Inner: gen.Value(gen.Inner{Enabled: new(true)}),\nCount: new(gen.Count(int32(2))),\n}"},
		{"type of another package", "Outer", map[string]any{"at": "2026-01-12T09:30:00Z"}, ""},
		{"unknown member", "Outer", map[string]any{"colour": "red"}, ""},
		{"value of another type", "Name", true, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			expression, err := parser.ParseExpr(test.of)
			harness.Check(t, err)
			got, err := l.of(expression, test.value)
			if test.want == "" && err == nil || test.want != "" && (err != nil || got != test.want) {
				t.Errorf("got %s, error %v, want %s", got, err, test.want)
			}
		})
	}
}

func TestPythonLiteral_convertsOnlyConstants(t *testing.T) {
	t.Parallel()
	got := pythonLiteral(map[string]any{"true": true, "null": []any{nil, "null", "a: false"}, "text": ": false"})
	want := "{\n    \"null\": [\n        None,\n        \"null\",\n        \"a: false\"\n    ],\n    \"text\": \": false\",\n    \"true\": True\n}"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
