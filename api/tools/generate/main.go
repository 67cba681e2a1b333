// Command generate generates code from the document: the files *.gen.go of the packages gen, client, client/webhook and
// server, and the sample programs in api/_samples. It also writes the document itself, in JSON and without its
// descriptions, to server/document.gen.json. It must run in the root of the module. Its argument is the path of the
// document, which is one file. If the document has an error, it changes no file. A warning is about what a server
// serves only with [validate.Config.Lenient].
//
// # Grammar
//
// The validator of the server judges all of OpenAPI 3.1. Code is generated for the following. The rest is refused with
// its file, line and column, and the way out. The column is too high after some characters in JSON that are usually
// escapes: U+007F to U+009F, U+2028, U+2029, U+FFFE and U+FFFF.
//
//   - Parameters in a path, query, header or cookie that are a string, integer, number, boolean or enum, or a list of
//     these, in the styles simple and form; objects of these in a query in the style deepObject; and all values as
//     content: application/json.
//   - Bodies of requests and responses in JSON, of any schema; in text; in any other media type as bytes; and forms, as
//     application/x-www-form-urlencoded and multipart/form-data, whose fields are scalars, lists, files or JSON, or
//     objects of scalars in the style deepObject.
//   - Headers of responses that are a string, integer, number, boolean or enum, or a list of these, but for
//     Transfer-Encoding and a list in Set-Cookie.
//   - Responses that are streams: server-sent events and JSON lines with an itemSchema (OpenAPI 3.2) or x-itemSchema.
//   - Callbacks and webhooks, several statuses, ranges of them and default, redirects, HEAD, and responses without
//     content. The successes of an operation have bodies of one kind: JSON, text, bytes, or a stream of one type. If
//     one has several, the client asks for JSON, or else a stream, or else text. The body of a webhook is a component
//     with the properties event_type, a constant that is the name of the webhook, and data. The component EventType
//     lists the names, and Event has the properties of all.
//
// In Go, a body or response that is null is a nil pointer, a null member of a request is a Nullable, and one of a
// response is absent. Members that are no properties, but are described elsewhere, as in patternProperties or then, are
// in the field AdditionalProperties. A schema with properties or additionalProperties and no type is an object: the
// other values that it allows are not read. A number is a float64, or a float32 with the format float, and loses the
// digits that this does not hold. A schema in another one that needs a name in Go becomes a component with the names
// that lead to it.
//
// Of the extensions of oapi-codegen, x-go-name, x-go-type-name and x-enum-varnames choose names, but for headers of
// responses, and x-go-type chooses a type.
//
// A client sends no text that a server could take for another value. It refuses an empty text in a path, for a required
// parameter and as an optional body, an empty list but in a header or JSON, the elements that its form cannot tell
// apart, and the text with which a path is that of another operation.
//
// Refused are the keyword nullable, media types in the components, defaultMapping, operations of paths without an
// operationId, the x-go-name of a response, references to path items, statuses below 200, optional bodies and
// parameters that may be null, fields of application/x-www-form-urlencoded that have several types, an allOf that no
// value, two formats or two unions match, alternatives of a discriminator without a name, numbers of YAML that JSON
// does not have, operationIds with control characters, comments in Go with U+0000 or U+FEFF, the styles matrix, label,
// spaceDelimited, pipeDelimited and cookie, objects and unions in all other parameters and headers, parameters that are
// the whole query, the method QUERY and additional methods, requests that are streams, text/json, JSON text sequences,
// multipart bodies other than multipart/form-data, parts without a name, and documents of several files.
package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"
	"go.yaml.in/yaml/v3"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate DOCUMENT")
		os.Exit(2)
	}
	f, err := generate(os.Args[1], os.Stderr)
	if err == nil {
		err = f.replace()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// files contains the generated files by path. They are written after all are generated, so an error changes no file.
type files map[string][]byte

func generate(path string, warnings io.Writer) (_ files, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("%s: the generator failed, which is a fault of its own: %v\n%s", path, reason, debug.Stack())
		}
	}()
	text, err := os.ReadFile(path) //nolint:gosec // the path of the document is an argument
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat("api/tools/generate/templates"); err != nil {
		return nil, errors.New("must run in the root of the module")
	}
	var ignored bytes.Buffer
	whole, err := validate.JSON(text, validate.Config{Name: path, Lenient: func(e *validate.DocumentError) {
		_, _ = fmt.Fprintln(&ignored, "generate: warning:", e) // a keyword or format that the validator ignores
	}})
	if err != nil {
		return nil, err
	}
	text = asYAML(text)
	if err := checkText(path, text); err != nil {
		return nil, err // without warnings, which may be about the same parts
	}
	original, err := load(text)
	if err != nil {
		return nil, unplaced(path, err)
	}
	if err := checkGrammar(path, original); err != nil {
		return nil, err
	}
	_, _ = ignored.WriteTo(warnings) // standard error
	f := files{"server/document.gen.json": serverDocument(whole)}
	document, elements, err := f.types(path, text)
	if err != nil {
		return nil, err
	}
	all, err := operations(elements)
	if err != nil {
		return nil, err
	}
	notifications, err := events(document, elements)
	if err != nil {
		return nil, err
	}
	for _, file := range []struct {
		path, template string
		data           any
	}{
		{"client/operations.gen.go", "client.tmpl", clientMethods(all)},
		{"server/unimplemented.gen.go", "unimplemented.tmpl", all},
		{"client/webhook/handlers.gen.go", "handlers.tmpl", notifications},
		{"gen/constructors.gen.go", "constructors.tmpl", constructors(document)},
		{"gen/events.gen.go", "events.tmpl", notifications},
		{"gen/headers.gen.go", "headers.tmpl", responseHeaders(document, elements.definitions)},
		{"gen/streams.gen.go", "streams.tmpl", elements.unions},
		{"gen/nullable.gen.go", "nullable.tmpl", nil},
		{"gen/doc.gen.go", "doc.tmpl", nil},
	} {
		if hasWord("handlers.tmpl events.tmpl", file.template) && len(document.Webhooks) == 0 {
			continue
		}
		f.write(file.path, file.template, file.data)
	}
	compiled, err := f.compile(elements)
	if err != nil {
		return nil, err
	}
	return f, f.samples(original, all, elements, compiled)
}

//go:embed gen.yaml
var settingsSource []byte

// loadSettings returns the settings of oapi-codegen.
func loadSettings() (s codegen.Configuration) {
	decoder := yaml.NewDecoder(bytes.NewReader(settingsSource))
	decoder.KnownFields(true)
	check(decoder.Decode(&s))
	s = s.UpdateDefaults()
	check(s.Validate())
	return s
}

// types generates the types and the server with oapi-codegen. It returns the adapted document.
func (f files) types(path string, text []byte) (*openapi3.T, *names, error) {
	s := loadSettings()
	document, err := load(text)
	if err != nil {
		return nil, nil, unplaced(path, err)
	}
	codegen.NameNormalizers[codegen.NameNormalizerFunctionToCamelCaseWithInitialisms] = goName
	codegen.TemplateFunctions["canonicalHeader"] = http.CanonicalHeaderKey
	// The first run generates nothing. It registers the settings and components with oapi-codegen, so that adapt can
	// look up the names of types.
	names := s
	names.Generate = codegen.GenerateOptions{}
	components := &openapi3.T{OpenAPI: document.OpenAPI, Components: document.Components, Paths: openapi3.NewPaths()}
	if _, err := codegen.Generate(components, names); err != nil {
		return nil, nil, unplaced(path, err)
	}
	unions, err := adapt(path, document)
	if err != nil {
		return nil, nil, err
	}
	elements, err := checkNames(path, document)
	if err != nil {
		return nil, nil, err
	}
	elements.unions = unions
	withoutWebhooks := *document // receivers that package client/webhook replaces
	withoutWebhooks.Webhooks = nil
	code, err := codegen.Generate(&withoutWebhooks, s)
	if err != nil {
		return nil, nil, unplaced(path, err)
	}
	// oapi-codegen writes the same package comment to each file.
	_, code, ok := strings.Cut(code, "\npackage "+s.PackageName+"\n")
	if !ok {
		return nil, nil, errors.New("oapi-codegen wrote no package clause")
	}
	// The code for members beside a union compares a Nullable with nil, and writes null for one that is absent.
	beside := regexp.MustCompile(`(?s)(MarshalJSON\(\) \S+ \S+ \{)\n\tb, err := t\.union[^\n]+\n\tif .*?\n\}\n`)
	code = beside.ReplaceAllString(code, "$1 return encode.JSON(&t) }\n")
	f["gen/api.gen.go"] = []byte(header + "package " + s.PackageName + "\n" + docComments(code))
	return document, elements, nil
}

// asYAML returns a document in JSON without what the parser of YAML does not read: slashes and characters in two parts
// as escapes, which become characters, and control characters and line breaks of Unicode, which become escapes. What
// follows a text keeps its place, but each of the new escapes may move the rest of its line by 5 columns.
func asYAML(text []byte) []byte {
	if !json.Valid(text) {
		return text
	}
	quoted := regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	escape := regexp.MustCompile(`\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|.)|[\x{7f}-\x{9f}\x{2028}\x{2029}\x{fffe}\x{ffff}]`)
	return quoted.ReplaceAllFunc(text, func(whole []byte) []byte {
		plain := escape.ReplaceAllFunc(whole, func(part []byte) []byte {
			var read string
			switch {
			case part[0] != '\\':
				character, _ := utf8.DecodeRune(part)
				return fmt.Appendf(nil, `\u%04x`, character)
			case len(part) == 2 && part[1] != '/':
				return part
			}
			check(json.Unmarshal(slices.Concat([]byte{'"'}, part, []byte{'"'}), &read))
			return []byte(read)
		})
		return append(plain, bytes.Repeat([]byte{' '}, max(0, utf8.RuneCount(whole)-utf8.RuneCount(plain)))...)
	})
}

// unplaced returns an error of kin-openapi or oapi-codegen, which know no places, in one line.
func unplaced(path string, err error) error {
	return &validate.DocumentError{File: path, Line: 1, Column: 1, Detail: strings.Join(strings.Fields(err.Error()), " ")}
}

func load(text []byte) (*openapi3.T, error) {
	loader := openapi3.NewLoader()
	loader.IncludeOrigin = true // for line numbers
	// A comment makes the loader read JSON as YAML, of which alone it knows the lines.
	document, err := loader.LoadFromData(slices.Concat(text, []byte("\n#\n")))
	if err != nil {
		return nil, err
	}
	document.Components = cmp.Or(document.Components, &openapi3.Components{})
	if document.Components.Schemas == nil {
		document.Components.Schemas = openapi3.Schemas{}
	}
	document.Paths = cmp.Or(document.Paths, openapi3.NewPaths())
	if err := expand(document); err != nil {
		return nil, err
	}
	// Each callback refers to a webhook of the document, whose types oapi-codegen would declare twice.
	eachOperation(document, func(_ *openapi3.PathItem, operation *openapi3.Operation) { operation.Callbacks = nil })
	return document, nil
}

// stale returns the files of an earlier run that were not generated again.
func (f files) stale() []string {
	var names []string
	_ = fs.WalkDir(os.DirFS("."), ".", func(path string, _ fs.DirEntry, err error) error { // what cannot be read is not removed
		if _, ok := f[path]; !ok && err == nil && isGenerated(path) {
			names = append(names, path)
		}
		return nil
	})
	return names
}

// isGenerated reports whether this command has written a file.
func isGenerated(path string) bool {
	if !strings.HasSuffix(path, ".gen.go") {
		return strings.HasPrefix(path, samplesDir+"/")
	}
	text, err := os.ReadFile(path)
	return err == nil && bytes.HasPrefix(text, []byte(header))
}

// replace writes the files and removes those of an earlier run that were not generated again.
func (f files) replace() (err error) {
	root, err := os.OpenRoot(".")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, path := range f.stale() {
		err = errors.Join(err, root.Remove(path))
	}
	for path, code := range f {
		err = errors.Join(err, root.MkdirAll(filepath.Dir(path), 0o750), root.WriteFile(path, code, 0o644))
	}
	return err
}
