package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

func TestGenerate_refusesWhatHasNoGoName(t *testing.T) {
	t.Parallel()
	operation := func(id, more string) string {
		return "get: { operationId: " + id + ", responses: { '204': { description: d } }" + more + " }"
	}
	const webhook = "  {}\nwebhooks:\n  a: { post: { operationId: a, requestBody: { content: { application/json: { schema: { $ref: '#/components/schemas/A' } } } }, responses: { 2XX: { description: d } } } }"
	const a = "    A: { type: object, required: [event_type, data], properties: { event_type: { type: string, const: a }, data: { type: object, properties: { b: { type: string } } } } }\n"
	for name, test := range map[string]struct{ paths, components, want string }{
		"schemas":                  {"  {}", "    foo_bar: { type: string }\n    FooBar: { type: integer }", `8:5: the schema FooBar has the Go name FooBar, as has the schema foo_bar in line 7: choose another with x-go-name`},
		"schema of gen":            {"  {}", "    Nullable: { type: object }", `7:5: the code for the schema Nullable does not compile (Nullable is declared in gen/api.gen.go and gen/nullable.gen.go): choose another with x-go-name`},
		"schema and part":          {"  {}", "    A: { type: object, properties: { b: { type: string, enum: [c] } } }\n    AB: { type: integer }", `8:5: the schema AB has the Go name AB, as has a schema in A in line 7: choose another with x-go-name`},
		"schema and body":          {"  /a: { " + operation("a", "") + " }", "    A204Response: { type: string }", `7:5: the code for the schema A204Response does not compile (A204Response is declared twice in gen/api.gen.go; see also the operation a in line 4): choose another with x-go-name`},
		"properties":               {"  {}", "    A: { type: object, properties: { foo_bar: { type: string }, fooBar: { type: string } } }", `7:65: the property "fooBar" has the Go name FooBar, as has the property "foo_bar" in line 7: choose another with x-go-name`},
		"property in part":         {"  {}", "    A: { type: object, properties: { a_b: { type: string } }, allOf: [ { type: object,\n      properties: { aB: { type: string } } } ] }", `8:21: the property "aB" has the Go name AB, as has the property "a_b" in line 7: choose another with x-go-name`},
		"property and tag":         {"  {}", "    A: { type: object, properties: { 'a,b': { type: string } } }", `7:38: the property "a,b" cannot be written in the tag of a Go struct: rename it`},
		"hyphen":                   {"  {}", "    A: { type: object, required: ['-'], properties: { '-': { type: string } } }", `7:55: the property "-" cannot be written in the tag of a Go struct: rename it`},
		"marks":                    {"  {}", "    A: { type: object, properties: { नाम: { type: string } } }", `7:38: the property "नाम" cannot be written in the tag of a Go struct: rename it`},
		"no letters":               {"  {}", "    A: { type: object, properties: { '[]': { type: string } } }", `7:38: the property "[]" has the Go name "", which is not exported: choose another with x-go-name`},
		"other members":            {"  {}", "    A: { type: object, properties: { additional-properties: { type: string } }, additionalProperties: true }", `7:38: the code for the property "additional-properties" does not compile (AdditionalProperties is declared twice in gen/api.gen.go): choose another with x-go-name`},
		"x-go-name":                {"  {}", "    A: { type: object, x-go-name: error }", `7:5: the schema A has the Go name "error", which is not exported: choose another with x-go-name`},
		"x-go-name keyword":        {"  {}", "    A: { type: object, properties: { a: { type: string, x-go-name: type } } }", `7:38: the x-go-name type is no Go name: choose another with x-go-name`},
		"operations":               {"  /a: { " + operation("get-it", "") + " }\n  /b: { " + operation("getIt", "") + " }", "", `5:9: the operation getIt has the Go name GetIt, as has the operation get-it in line 4: choose another operationId`},
		"client method":            {"  /a: { " + operation("login-with-retry", "") + " }\n  /b: { " + operation("waitAvatar", "") + " }", "", `5:9: the code for the operation waitAvatar does not compile (WaitAvatar is declared in client/wait.go and client/operations.gen.go): choose another operationId`},
		"parameters":               {"  /a: { " + operation("a", ", parameters: [ { name: a_b, in: query, schema: { type: string } }, { name: aB, in: header, schema: { type: string } } ]") + " }", "", `4:142: the parameter "aB" has the Go name AB, as has the parameter "a_b" in line 4: choose another with x-go-name`},
		"enum":                     {"  {}", "    A: { enum: [a, '!'] }", `7:20: the value "!" has no Go name: choose others with x-enum-varnames`},
		"enum of a type":           {"  {}", "    A: { type: integer, enum: [1, a] }", `7:35: the value "a" has another type than the schema`},
		"quoted enum":              {"  {}", "    A: { enum: [a, 'b\"'] }", `7:20: the value "b\"" cannot be a constant in Go: remove the enum, or quotes and control characters in it`},
		"large const":              {"  {}", "    A: { type: integer, const: 9007199254740993 }", `7:5: the digits of the const are not known: write it as an enum with one value`},
		"discriminator":            {"  {}", "    A: { type: object, properties: { b: { oneOf: [ { type: object } ],\n      discriminator: { propertyName: k, mapping: { a: '#/components/schemas/A' } } } } }", `7:54: an alternative of a discriminator needs a name: move it to components/schemas, and refer to it`},
		"event not in oneOf":       {webhook, "    EventType: { enum: [a] }\n" + a + "    Event: { oneOf: [ { $ref: '#/components/schemas/EventType' } ] }", `6:3: the webhook a is missing in oneOf of the schema Event in line 11: add #/components/schemas/A`},
		"event not in the mapping": {webhook, "    EventType: { enum: [a] }\n" + a + "    Event: { oneOf: [ { $ref: '#/components/schemas/A' } ],\n      discriminator: { propertyName: event_type, mapping: { b: '#/components/schemas/A' } } }", `6:3: the webhook a is missing in the mapping of the schema Event in line 11: add a: #/components/schemas/A`},
		"inline event":             {"  {}\nwebhooks:\n  a: { post: { operationId: a, requestBody: { content: { application/json: { schema: { type: object } } } }, responses: { 2XX: { description: d } } } }", "    EventType: { enum: [a] }", `6:3: the webhook a must have a body whose schema is a reference to a component`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := generated(t, test.paths, test.components)
			if err == nil {
				t.Fatal("no error")
			}
			lines := strings.Split(err.Error(), "\n")
			if _, got, _ := strings.Cut(lines[0], "openapi.yaml:"); got != test.want || len(lines) > 1 {
				t.Errorf("got  %s\nwant %s\n%v", got, test.want, err)
			}
		})
	}
}

func TestGenerate_keepsNamesOfEachScript(t *testing.T) {
	t.Parallel()
	f, err := generated(t, "  /a/{名前}: { get: { operationId: Öffne, parameters: [ { name: 名前, in: path, required: true, schema: { type: string } } ], responses: "+
		"{ '200': { description: d, content: { application/json: { schema: { $ref: '#/components/schemas/Élan' } } } } } } }", `
    Élan: { type: object, required: [naïve], properties: { 名前: { type: string }, 価格_usd: { type: number }, naïve: { type: string }, имя: { type: string } } }
    言語: { enum: [日本語, français] }
    Renamed: { type: object, x-go-name: Other, required: [a], properties: { a: { type: string, x-go-name: First } } }
`)
	harness.Check(t, err)
	code := strings.Join(strings.Fields(string(f["gen/api.gen.go"])), " ")
	for _, want := range []string{
		"type Élan struct { Naïve string `json:\"naïve\"` Имя *string `json:\"имя,omitempty\"` X価格Usd *float64 `json:\"価格_usd,omitempty\"` X名前 *string `json:\"名前,omitempty\"` }",
		`X言語Français X言語 = "français" X言語X日本語 X言語 = "日本語"`,
		"type Other struct { First string `json:\"a\"` }",
	} {
		if !strings.Contains(code, want) {
			t.Errorf("the code does not contain %s", want)
		}
	}
	if code := string(f["gen/constructors.gen.go"]); !strings.Contains(code, "func NewÉlan(naïve string) Élan {") {
		t.Errorf("the constructor is %s", code)
	}
	if code := string(f["client/operations.gen.go"]); !strings.Contains(code, "func (c *Client) Öffne(ctx context.Context, x名前 string,") ||
		!strings.Contains(code, "// Öffne sends GET /a/{名前}.\n") {
		t.Error("the client has no method Öffne, or no comment")
	}
}

// specialNames returns the keywords of Go, its predeclared names, and the names of the packages that package gen imports.
func specialNames(syntax []*ast.File) []string {
	all := types.Universe.Names()
	for keyword := token.BREAK; keyword <= token.VAR; keyword++ {
		all = append(all, keyword.String())
	}
	for _, file := range syntax {
		for _, spec := range file.Imports {
			name, _ := strconv.Unquote(spec.Path.Value) // the parser accepted it
			all = append(all, path.Base(name))
		}
	}
	return all
}

// Each name that is special in Go or in the generated code is refused with its line, or the code compiles.
func TestGenerate_compilesWithEachName(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it generates code for thousands of names")
	document, err := os.ReadFile(filepath.Join("api", "openapi.yaml"))
	harness.Check(t, err)
	syntax := parsedPackage(t, "gen")
	special := specialNames(syntax)
	words := slices.Clone(special)
	for _, file := range append(syntax, parsedPackage(t, "client")...) {
		for _, d := range declarations(file) {
			if d.of == "" || d.of == "Client" {
				words = append(words, d.name)
			}
		}
	}
	slices.Sort(words)
	lines := strings.Split(string(document), "\n")
	const operation = "  %s: { get: { operationId: %s, parameters: [ %s ], responses: { '200': { description: d, headers: { X-%s: { schema: { type: string } } } } } } }"
	added := map[string][]string{}
	for i, word := range slices.Compact(words) {
		if strings.Contains(string(document), "operationId: "+word+"\n") || strings.Contains(string(document), "\n    "+word+":\n") {
			continue // the document has it
		}
		quoted := strconv.Quote(word)
		added["  schemas:"] = append(added["  schemas:"],
			"    "+quoted+": { type: object, properties: { a: { type: string } } }",
			fmt.Sprintf("    Word%dA: { type: object, properties: { %s: { type: integer } }, additionalProperties: true }", i, quoted),
			fmt.Sprintf("    Word%dB: { enum: [ %s ] }", i, quoted),
			fmt.Sprintf("    Word%dC: { type: object, x-go-name: %s }", i, quoted),
		)
		if !slices.Contains(special, word) && i%20 != 0 { // operations are long
			continue
		}
		parameter := func(in string) string {
			return fmt.Sprintf("{ name: %s, in: %s, required: true, schema: { type: integer } }", quoted, in)
		}
		added["paths:"] = append(added["paths:"],
			fmt.Sprintf(operation, strconv.Quote("/words/id/"+word), quoted, "", word),
			fmt.Sprintf(operation, fmt.Sprintf("/words/path%d/{%s}", i, word), fmt.Sprintf("wordPath%dX", i), parameter("path"), "A"),
			fmt.Sprintf(operation, fmt.Sprintf("/words/other%d", i), fmt.Sprintf("wordOther%dX", i), parameter([]string{"query", "header", "cookie"}[i%3]), "B"),
		)
	}
	inLine := regexp.MustCompile(`in line (\d+)`)
	var f files
	for range 10 {
		text, isAdded := insert(lines, added)
		name := filepath.Join(t.TempDir(), "openapi.yaml")
		harness.Check(t, os.WriteFile(name, []byte(text), 0o600))
		oneAtATime.Lock()
		f, err = generate(name, t.Output())
		oneAtATime.Unlock()
		if err == nil {
			break
		}
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok {
			t.Fatal(err)
		}
		refused := map[string]bool{}
		for _, err := range joined.Unwrap() {
			var fault *validate.DocumentError
			if !errors.As(err, &fault) {
				t.Fatal(err)
			}
			line := fault.Line
			if other := inLine.FindStringSubmatch(fault.Detail); !isAdded[line] && other != nil { // the first of two places
				line, _ = strconv.Atoi(other[1])
			}
			if !isAdded[line] {
				t.Fatal(err)
			}
			refused[strings.Split(text, "\n")[line-1]] = true
		}
		for after := range added {
			added[after] = slices.DeleteFunc(added[after], func(line string) bool { return refused[line] })
		}
		t.Logf("%d names are refused", len(refused))
	}
	harness.Check(t, err)
	goBuild(t, f)
}

func parsedPackage(t *testing.T, directory string) (syntax []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(directory, "*.go"))
	harness.Check(t, err)
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		harness.Check(t, err)
		if !strings.HasSuffix(name, "_test.go") {
			syntax = append(syntax, file)
		}
	}
	return syntax
}

// insert adds lines after certain lines, and returns the text and which of its lines, counted from 1, were added.
func insert(lines []string, added map[string][]string) (text string, isAdded map[int]bool) {
	var all []string
	isAdded = map[int]bool{}
	for _, line := range lines {
		all = append(all, line)
		for _, more := range added[line] {
			all = append(all, more)
			isAdded[len(all)] = true
		}
	}
	return strings.Join(all, "\n"), isAdded
}

// goBuild compiles the packages of the generated files.
func goBuild(t *testing.T, f files) {
	t.Helper()
	directory := t.TempDir()
	replace := map[string]string{}
	for i, name := range slices.Sorted(maps.Keys(f)) {
		if !strings.HasSuffix(name, ".gen.go") {
			continue
		}
		at := filepath.Join(directory, fmt.Sprint(i))
		harness.Check(t, os.WriteFile(at, f[name], 0o600))
		absolute, err := filepath.Abs(name)
		harness.Check(t, err)
		replace[absolute] = at
	}
	overlay := filepath.Join(directory, "overlay.json")
	content, err := json.Marshal(map[string]any{"Replace": replace})
	harness.Check(t, err)
	harness.Check(t, os.WriteFile(overlay, content, 0o600))
	command := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "./gen", "./client", "./client/webhook", "./server")
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}
