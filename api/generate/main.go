// Command generate writes all code that follows from the document: package gen, and the generated
// files of the packages that wrap it. It runs in the root of the module and takes one argument, the
// document.
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"
	"go.yaml.in/yaml/v3"
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

func run(path string) error {
	for _, name := range []string{"models", "client", "server"} {
		if err := generate(path, filepath.Join("api", "gen-"+name+".yaml")); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := write("gen/doc.gen.go", docSource, nil); err != nil {
		return err
	}
	return write("gen/nullable.gen.go", nullableSource, nil)
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

// generate runs oapi-codegen with the settings at settingsPath.
func generate(path, settingsPath string) error {
	s, err := loadSettings(settingsPath)
	if err != nil {
		return err
	}
	document, err := load(path)
	if err != nil {
		return err
	}
	// The first run makes known to oapi-codegen how types are named.
	if _, err := codegen.Generate(document, s.Configuration); err != nil {
		return err
	}
	if document, err = load(path); err != nil {
		return err
	}
	if err := adapt(document); err != nil {
		return err
	}
	code, err := codegen.Generate(document, s.Configuration)
	if err != nil {
		return err
	}
	// What comes before is a comment of oapi-codegen's on the package, the same in each file.
	_, code, ok := strings.Cut(code, "\npackage "+s.PackageName+"\n")
	if !ok {
		return errors.New("oapi-codegen wrote no package clause")
	}
	return save(s.Output, []byte(header+"package "+s.PackageName+"\n"+code))
}

func load(path string) (*openapi3.T, error) {
	return openapi3.NewLoader().LoadFromFile(path)
}

func save(path string, code []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, code, 0o644)
}
