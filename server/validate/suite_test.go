package validate_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

// suiteDir names the directory of the JSON-Schema-Test-Suite, which is not part of this module:
// https://github.com/json-schema-org/JSON-Schema-Test-Suite.
const suiteDir = "JSON_SCHEMA_TEST_SUITE"

type suiteGroup struct {
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Tests       []struct {
		Description string          `json:"description"`
		Data        json.RawMessage `json:"data"`
		Valid       bool            `json:"valid"`
	} `json:"tests"`
}

// Of each file of the suite either every case is judged as it says, or what is not supported
// stops the compilation; suiteTable says which. Nothing compiles and is then judged wrongly, but
// for the deviations that the table names.
func TestSuite(t *testing.T) {
	t.Parallel()
	root := os.Getenv(suiteDir)
	if _, err := os.Stat(root); err != nil {
		t.Skip(suiteDir + " does not name a directory: get the suite, and have it name where it is")
	}
	root = filepath.Join(root, "tests", "draft2020-12")
	var files []string
	for _, pattern := range []string{"*.json", "optional/*.json", "optional/*/*.json"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			files = append(files, strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(file, root)), "/"))
		}
	}
	slices.Sort(files)
	if listed := slices.Sorted(maps.Keys(suiteTable)); !slices.Equal(files, listed) {
		t.Errorf("the suite has %q, and the table %q", files, listed)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join(root, file))
			if err != nil {
				t.Fatal(err)
			}
			var groups []suiteGroup
			if err := json.Unmarshal(text, &groups); err != nil {
				t.Fatal(err)
			}
			checkSuiteFile(t, suiteTable[file], groups)
		})
	}
}

func checkSuiteFile(t *testing.T, want suiteFile, groups []suiteGroup) {
	unused := maps.Clone(want.deviations)
	reasons := make(map[string]bool) // that have refused a group
	for _, group := range groups {
		expected := want.refused
		if keywords, ok := want.groups[group.Description]; ok {
			expected = keywords
		}
		s, refused := compileSuiteSchema(t, group.Schema)
		if s == nil {
			hit := slices.DeleteFunc(refused, func(keyword string) bool { return !slices.Contains(strings.Fields(expected), keyword) })
			for _, keyword := range hit {
				reasons[keyword] = true
			}
			if len(hit) == 0 {
				t.Errorf("%s: refused, and not for %q", group.Description, expected)
			}
			continue
		}
		if expected != "" {
			t.Errorf("%s: not refused for %s", group.Description, expected)
		}
		for _, c := range group.Tests {
			name := group.Description + ": " + c.Description
			_, deviates := want.deviations[name]
			delete(unused, name)
			if err := s.Validate(c.Data); (err == nil) != (c.Valid != deviates) {
				t.Errorf("%s: %s: got %v, deviation: %v", name, c.Data, err, deviates)
			}
		}
	}
	for name := range unused {
		t.Errorf("the table names a deviation that no case has: %s", name)
	}
	for keyword := range strings.FieldsSeq(want.refused) {
		if !reasons[keyword] {
			t.Errorf("nothing is refused for %s", keyword)
		}
	}
	for name := range want.groups {
		if !slices.ContainsFunc(groups, func(g suiteGroup) bool { return g.Description == name }) {
			t.Errorf("the table names a group that the file does not have: %s", name)
		}
	}
}

// compileSuiteSchema compiles a schema as a component of a document, and its definitions as
// further ones. Where that is refused it returns the keywords.
func compileSuiteSchema(t *testing.T, text json.RawMessage) (*validate.Schema, []string) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // keeps what is written
	var schema any
	if err := decoder.Decode(&schema); err != nil {
		t.Fatal(err)
	}
	moveReferences(schema)
	schemas := object{"S": schema}
	if s, ok := schema.(object); ok {
		if s["$schema"] == "https://json-schema.org/draft/2020-12/schema" {
			delete(s, "$schema") // as a document of OpenAPI 3.1 has it by default
		}
		if definitions, ok := s["$defs"].(object); ok {
			maps.Copy(schemas, definitions)
			delete(s, "$defs")
		}
	}
	encoded := asJSON(object{
		"openapi": "3.1.1", "info": object{"title": "t", "version": "1"}, "paths": object{},
		"components": object{"schemas": schemas},
	})
	v, err := validate.Load([]byte(encoded), validate.Config{})
	if err != nil {
		return nil, refusedKeywords(err)
	}
	s, _ := v.Schema("S")
	return s, nil
}

// moveReferences makes references within a schema lead to where it will be in the document.
func moveReferences(schema any) {
	switch s := schema.(type) {
	case object:
		for name, value := range s {
			ref, _ := value.(string)
			switch {
			case name == "const" || name == "enum":
			case name == "$ref" && strings.HasPrefix(ref, "#/$defs/"):
				s[name] = strings.Replace(ref, "#/$defs", "#/components/schemas", 1)
			case name == "$ref" && strings.HasPrefix(ref, "#"):
				s[name] = strings.Replace(ref, "#", "#/components/schemas/S", 1)
			default:
				moveReferences(value)
			}
		}
	case []any:
		for _, element := range s {
			moveReferences(element)
		}
	}
}

// refusedKeywords returns the keywords that an error of validate.New names.
func refusedKeywords(err error) []string {
	var keywords []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		place, why, _ := strings.Cut(strings.TrimPrefix(line, "validate: "), ": ")
		keyword := place[strings.LastIndexByte(place, '/')+1:]
		if strings.HasPrefix(why, "is a boolean") {
			keyword = "boolean"
		}
		keywords = append(keywords, keyword)
	}
	slices.Sort(keywords)
	return slices.Compact(keywords)
}
