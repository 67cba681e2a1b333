package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
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

// specialNames returns the keywords of Go, its predeclared names, and the names of the packages that package gen
// imports.
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
		if !slices.Contains(special, word) && i%10 != 0 { // most are like others
			continue
		}
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
	for range 10 {
		text, isAdded := insert(lines, added)
		name := filepath.Join(t.TempDir(), "openapi.yaml")
		harness.Check(t, os.WriteFile(name, []byte(text), 0o600))
		oneAtATime.Lock()
		_, err = generate(name, t.Output()) // which compiles the code
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
