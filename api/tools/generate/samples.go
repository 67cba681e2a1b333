package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/getkin/kin-openapi/openapi3"
	"golang.org/x/tools/imports"
)

// samplesDir contains the sample programs, one file for each operation and language.
const samplesDir = "api/_samples"

// sample describes a program that calls one operation with the examples of the document.
type sample struct {
	operation

	Bearer       bool
	Target       string // path and query, escaped
	Headers      []sampleHeader
	JSON         any    // body in JSON, nil without one
	Schema       string // type of the body in TypeScript
	File         string // name of the file that is the body, empty without one
	ResponseType string // type of the response in TypeScript, empty unless it is JSON

	examples map[string]any // of parameters, by name

	Arguments []string // arguments of the Go method after ctx
	Prepare   string   // Go statements that declare the arguments
	Result    string   // Go variable for the result
}

type sampleHeader struct {
	Name, Value string
	Env         string // environment variable to read instead of Value
}

// samples generates the sample programs of all operations, and compiles those in Go. The operations are from the
// adapted document, and everything else is from the original document.
func (f files) samples(document *openapi3.T, all []operation, n *names, c *compilation) error {
	parsed := template.Must(template.New("").Funcs(template.FuncMap{
		"json": indentJSON, "typescript": typescriptLiteral, "python": pythonLiteral, "sh": shellQuote,
	}).ParseFS(templates, "sample.*.tmpl"))
	for _, o := range all {
		s := describeSample(document, o)
		s.call(literals{c.imported[module+"gen"]})
		for _, language := range []string{"sh", "go", "ts", "py"} {
			var text bytes.Buffer
			check(parsed.ExecuteTemplate(&text, "sample."+language+".tmpl", &s))
			name := path.Join(samplesDir, url.QueryEscape(s.ID)+"."+language) // an id may have slashes
			f[name] = text.Bytes()
			if language == "go" {
				f[name] = must(imports.Process(name, f[name], nil))
				c.check("main", []*ast.File{must(parser.ParseFile(c.fset, name, f[name], parser.SkipObjectResolution))})
			}
		}
	}
	return c.blame(n)
}

func describeSample(document *openapi3.T, o operation) sample {
	item := document.Paths.Value(o.Path)
	definition := item.GetOperation(o.Method)
	s := sample{operation: o, Bearer: takesBearer(document, definition), Target: o.Path, examples: map[string]any{}}
	query := url.Values{}
	for _, ref := range slices.Concat(item.Parameters, definition.Parameters) {
		p := ref.Value
		if !p.Required {
			continue
		}
		example := exampleOf(p.Example, p.Examples, p.Schema)
		s.examples[p.Name] = example
		value := fmt.Sprint(example)
		switch p.In {
		case openapi3.ParameterInPath:
			s.Target = strings.ReplaceAll(s.Target, "{"+p.Name+"}", url.PathEscape(value))
		case openapi3.ParameterInQuery:
			query.Set(p.Name, value)
		case openapi3.ParameterInHeader:
			if strings.EqualFold(p.Name, "x-workspace-id") {
				s.Headers = append(s.Headers, sampleHeader{Name: p.Name, Env: "STUDIO_WORKSPACE"})
			} else {
				s.Headers = append(s.Headers, sampleHeader{Name: p.Name, Value: value})
			}
		}
	}
	if len(query) > 0 {
		s.Target += "?" + query.Encode()
	}
	s.describeBody(definition)
	s.describeResponse(definition)
	return s
}

func takesBearer(document *openapi3.T, definition *openapi3.Operation) bool {
	requirements := document.Security
	if definition.Security != nil {
		requirements = *definition.Security
	}
	for _, requirement := range requirements {
		for name := range requirement {
			if scheme := document.Components.SecuritySchemes[name]; scheme != nil && strings.EqualFold(scheme.Value.Scheme, "bearer") {
				return true
			}
		}
	}
	return false
}

func (s *sample) describeBody(definition *openapi3.Operation) {
	if definition.RequestBody == nil {
		return
	}
	content := definition.RequestBody.Value.Content
	for _, name := range jsonTypes(content) {
		media := content[name]
		s.JSON = exampleOf(media.Example, media.Examples, media.Schema)
		s.Schema = typescriptType(media.Schema, `operations["`+s.ID+`"]["requestBody"]["content"]["`+name+`"]`)
		s.Headers = append(s.Headers, sampleHeader{Name: "Content-Type", Value: name})
		return
	}
	names := slices.Sorted(maps.Keys(content))
	if len(names) == 0 {
		return
	}
	contentType, file := names[len(names)-1], "file"
	switch contentType {
	case "video/*":
		contentType, file = "video/mp4", "video.mp4"
	case "image/*":
		contentType, file = "image/jpeg", "picture.jpg"
	case "audio/*":
		contentType, file = "audio/wav", "recording.wav"
	}
	s.File = file
	s.Headers = append(s.Headers, sampleHeader{Name: "Content-Type", Value: contentType})
}

func (s *sample) describeResponse(definition *openapi3.Operation) {
	for status, response := range sorted(definition.Responses.Map()) {
		content := response.Value.Content
		if names := jsonTypes(content); strings.HasPrefix(status, "2") && len(names) > 0 {
			s.ResponseType = typescriptType(content[names[0]].Schema, `operations["`+s.ID+`"]["responses"]["`+status+`"]["content"]["`+names[0]+`"]`)
			return
		}
	}
}

// exampleOf returns the first example of a parameter or body. Without an example, it returns a value of its type.
func exampleOf(one any, several openapi3.Examples, schema *openapi3.SchemaRef) any {
	if one != nil {
		return one
	}
	for _, example := range sorted(several) {
		if value, ok := example.Value.Extensions["dataValue"]; ok {
			return value
		}
		if example.Value.Value != nil {
			return example.Value.Value
		}
	}
	if schema == nil {
		return "example"
	}
	return plainValue(schema.Value)
}

// typescriptType returns the type of a schema in the output of openapi-typescript.
func typescriptType(ref *openapi3.SchemaRef, inPlace string) string {
	if name, ok := strings.CutPrefix(ref.Ref, "#/components/schemas/"); ok {
		return `components["schemas"]["` + name + `"]`
	}
	return inPlace
}

// call prepares the call of the client method in Go.
func (s *sample) call(models literals) {
	for _, p := range slices.Concat(s.PathParams, s.Required) {
		literal, ok := models.parse(p.Type, s.examples[p.Name])
		if !ok {
			s.Prepare += "var " + p.Argument + " " + p.Type + "\n"
			literal = p.Argument
		}
		s.Arguments = append(s.Arguments, literal)
	}
	switch {
	case s.Body.Kind == "Reader":
		s.Prepare += fmt.Sprintf("body, err := os.Open(%q)\nif err != nil {\nlog.Fatal(err)\n}\ndefer body.Close()\n", s.File)
		if s.Body.ContentType == "" {
			s.Arguments = append(s.Arguments, fmt.Sprintf("%q", s.Headers[len(s.Headers)-1].Value))
		}
		s.Arguments = append(s.Arguments, "body")
	case s.Body.Kind != "" && s.JSON != nil:
		literal, ok := models.parse(s.Body.Type, s.JSON)
		if !ok { // decode the JSON instead
			text := strings.NewReplacer("`", `\u0060`, "\ufeff", `\ufeff`).Replace(indentJSON(s.JSON)) // which no raw string has
			s.Prepare += "var body " + s.Body.Type + "\nif err := json.Unmarshal([]byte(`" + text + "`), &body); err != nil {\nlog.Fatal(err)\n}\n"
			literal = "body"
		}
		if s.Body.Pointer {
			literal = "new(" + literal + ")"
		}
		s.Arguments = append(s.Arguments, literal)
	case s.Body.Kind != "":
		s.Prepare += "var body " + s.Body.Type + "\n"
		s.Arguments = append(s.Arguments, map[bool]string{true: "&body", false: "body"}[s.Body.Pointer])
	}
	s.Result = "result"
	if name, ok := strings.CutPrefix(s.Success.Type, "gen."); ok && ast.IsExported(name) {
		s.Result = argument(name)
	}
}

func indentJSON(value any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(value) // the value was decoded from the document
	return strings.TrimSpace(text.String())
}

// Each line of indented JSON has one member or element, so these patterns never match inside a string.
var (
	memberName = regexp.MustCompile(`(?m)^( *)"([A-Za-z_][A-Za-z0-9_]*)": `)
	indent     = regexp.MustCompile(`(?m)^( +)`)
	lastWord   = regexp.MustCompile(`(?m)^( *(?:"(?:[^"\\]|\\.)*": )?)(true|false|null)(,?)$`)
)

// typescriptLiteral returns a value as an expression of TypeScript.
func typescriptLiteral(value any) string {
	return memberName.ReplaceAllString(indentJSON(value), "$1$2: ")
}

// pythonLiteral returns a value as an expression of Python.
func pythonLiteral(value any) string {
	words := map[string]string{"true": "True", "false": "False", "null": "None"}
	return lastWord.ReplaceAllStringFunc(indent.ReplaceAllString(indentJSON(value), "$1$1"), func(line string) string {
		parts := lastWord.FindStringSubmatch(line)
		return parts[1] + words[parts[2]] + parts[3]
	})
}

// shellQuote quotes a text for a POSIX shell.
func shellQuote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Imports returns the types of openapi-typescript that the TypeScript sample uses.
func (s *sample) Imports() string {
	var names []string
	for _, name := range []string{"components", "operations"} {
		if strings.HasPrefix(s.Schema, name) || strings.HasPrefix(s.ResponseType, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
