// Command generate writes all code that follows from the document: package gen, and the generated
// files of the packages that wrap it. It runs in the root of the module and takes one argument, the
// document.
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

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
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// files are what is generated, by path. None is written before all are complete, so that an error in
// the document leaves everything as it was.
type files map[string][]byte

func run(path string) error {
	if err := check(path, os.Stderr); err != nil {
		return err
	}
	f := files{}
	var document *openapi3.T
	for _, name := range []string{"models", "client", "server"} {
		var err error
		if document, err = f.generate(path, filepath.Join("api", "gen-"+name+".yaml")); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	definitions, err := codegen.OperationDefinitions(document)
	if err != nil {
		return err
	}
	all, err := operations(definitions)
	if err != nil {
		return err
	}
	notifications, err := events(document)
	if err != nil {
		return err
	}
	answers, err := constructors(document)
	if err != nil {
		return err
	}
	encoders, err := f.encoders()
	if err != nil {
		return err
	}
	for _, file := range []struct {
		path, source string
		data         any
	}{
		{"client/operations.gen.go", clientSource, all},
		{"server/unimplemented.gen.go", unimplementedSource, all},
		{"client/webhook/handlers.gen.go", handlersSource, notifications},
		{"gen/constructors.gen.go", constructorsSource, answers},
		{"gen/encoders.gen.go", encodersSource, encoders},
		{"gen/events.gen.go", eventsSource, notifications},
		{"gen/nullable.gen.go", nullableSource, nil},
		{"gen/doc.gen.go", docSource, nil},
	} {
		if err := f.write(file.path, file.source, file.data); err != nil {
			return err
		}
	}
	return f.replace()
}

// check refuses a document that no validator can serve, and warns of what it would leave out: that
// may be a format of a program's own. Both errors name the place, as those of oapi-codegen do not.
func check(path string, warnings io.Writer) error {
	text, err := os.ReadFile(path) //nolint:gosec // the file is the caller's
	if err != nil {
		return err
	}
	_, err = validate.Load(text, validate.Config{Name: path, Lenient: func(e *validate.DocumentError) {
		_, _ = fmt.Fprintln(warnings, "generate: warning:", e)
	}})
	return err
}

//go:embed doc.tmpl
var docSource string

// settings are those of one file of oapi-codegen's.
type settings struct {
	codegen.Configuration `yaml:",inline"`

	Output string `yaml:"output"`
}

func loadSettings(path string) (settings, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return settings{}, err
	}
	var s settings
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&s); err != nil {
		return settings{}, fmt.Errorf("%s: %w", path, err)
	}
	s.Configuration = s.UpdateDefaults()
	return s, s.Validate()
}

// generate runs oapi-codegen with the settings at settingsPath, and returns the document as it was
// adapted for it.
func (f files) generate(path, settingsPath string) (*openapi3.T, error) {
	s, err := loadSettings(settingsPath)
	if err != nil {
		return nil, err
	}
	document, err := load(path)
	if err != nil {
		return nil, err
	}
	// The first run makes known to oapi-codegen how types are named.
	if _, err := codegen.Generate(document, s.Configuration); err != nil {
		return nil, err
	}
	if document, err = load(path); err != nil {
		return nil, err
	}
	if err := adapt(document); err != nil {
		return nil, err
	}
	code, err := codegen.Generate(document, s.Configuration)
	if err != nil {
		return nil, err
	}
	// What comes before is a comment of oapi-codegen's on the package, the same in each file.
	_, code, ok := strings.Cut(code, "\npackage "+s.PackageName+"\n")
	if !ok {
		return nil, errors.New("oapi-codegen wrote no package clause")
	}
	f[s.Output] = []byte(header + "package " + s.PackageName + "\n" + code)
	return document, nil
}

func load(path string) (*openapi3.T, error) {
	document, err := openapi3.NewLoader().LoadFromFile(path)
	if err != nil {
		return nil, err
	}
	withoutCallbacks(document)
	return document, nil
}

// replace writes the files, and removes what an earlier run generated and this one does not.
func (f files) replace() (err error) {
	root, err := os.OpenRoot(".")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	err = fs.WalkDir(root.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
		if _, ok := f[path]; ok || err != nil || !strings.HasSuffix(path, ".gen.go") {
			return err
		}
		return root.Remove(path)
	})
	for path, code := range f {
		err = errors.Join(err, root.MkdirAll(filepath.Dir(path), 0o750), root.WriteFile(path, code, 0o644))
	}
	return err
}
