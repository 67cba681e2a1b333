package validate_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// suiteDir is the environment variable with the directory of the JSON-Schema-Test-Suite, which is not part of
// this module: https://github.com/json-schema-org/JSON-Schema-Test-Suite.
const suiteDir = "JSON_SCHEMA_TEST_SUITE"

// suiteServer is the base URL of the remote schemas of the suite.
const suiteServer = "http://localhost:1234"

type suiteGroup struct {
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Tests       []struct {
		Description string          `json:"description"`
		Data        json.RawMessage `json:"data"`
		Valid       bool            `json:"valid"`
	} `json:"tests"`
}

// readSuite returns the groups of the suite in the files that match a pattern, by file: none if the suite is not here.
func readSuite(t *testing.T, patterns ...string) map[string][]suiteGroup {
	t.Helper()
	tests := filepath.Join(os.Getenv(suiteDir), "tests", "draft2020-12")
	if _, err := os.Stat(tests); err != nil {
		t.Log(suiteDir + " does not name a directory: get the suite, and have it name where it is")
		return nil
	}
	all := make(map[string][]suiteGroup)
	for _, pattern := range patterns {
		files := harness.Try(filepath.Glob(filepath.Join(tests, pattern)))(t)
		for _, path := range files {
			text := harness.Try(os.ReadFile(path))(t)
			var groups []suiteGroup
			harness.Check(t, json.Unmarshal(text, &groups))
			all[strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(path, tests)), "/")] = groups
		}
	}
	return all
}

// All cases of draft 2020-12 and its optional parts have the result that the suite expects, except for the
// deviations in the documentation of the package. Schemas that are not supported are rejected with their
// location.
func TestSuite_passesExceptDocumentedDeviations(t *testing.T) {
	t.Parallel()
	files := readSuite(t, "*.json", "optional/*.json", "optional/*/*.json")
	if files == nil {
		t.SkipNow()
	}
	documents := suiteDocuments(t, filepath.Join(os.Getenv(suiteDir), "remotes"))
	used := make(map[string]bool)
	for file, groups := range files {
		for _, group := range groups {
			checkSuiteGroup(t, file, group, documents, used)
		}
	}
	for name := range suiteExceptions {
		if !used[name] {
			t.Errorf("no case is an exception as listed: %s", name)
		}
	}
	if len(files) < 80 {
		t.Errorf("only %d files have been found", len(files))
	}
}

// suiteDocuments returns the documents that schemas of the suite refer to, by URI. The remote schemas are
// only available in a complete checkout of the suite.
func suiteDocuments(t *testing.T, remotes string) map[string][]byte {
	t.Helper()
	documents := metaschemas(t)
	err := filepath.WalkDir(remotes, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		documents[suiteServer+"/"+filepath.ToSlash(strings.TrimPrefix(path, remotes+string(filepath.Separator)))] = text
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return documents
}

func checkSuiteGroup(t *testing.T, file string, group suiteGroup, documents map[string][]byte, used map[string]bool) {
	t.Helper()
	place := file + ": " + group.Description
	excepted := func(name string) bool {
		for _, listed := range []string{file, place, name} {
			if suiteExceptions[listed] != "" {
				used[listed] = true
				return true
			}
		}
		return false
	}
	s, err := compileSuiteSchema(t, group.Schema, documents)
	if err != nil {
		if refused := (*validate.DocumentError)(nil); !errors.As(err, &refused) || refused.Pointer == "" {
			t.Errorf("%s: the error has no place: %v", place, err)
		}
		switch {
		case excepted(place):
		case bytes.Contains(group.Schema, []byte(suiteServer)) && len(documents) < 10:
			t.Logf("%s: the suite has no remotes here", place)
		default:
			t.Errorf("%s: refused: %v", place, err)
		}
		return
	}
	for _, c := range group.Tests {
		name := place + ": " + c.Description
		if err := s.Validate(c.Data); (err == nil) != c.Valid && !excepted(name) {
			t.Errorf("%s: %.200s: got %v", name, c.Data, err)
		}
	}
}

// compileSuiteSchema compiles a schema as a component schema of a document.
func compileSuiteSchema(t *testing.T, schema json.RawMessage, documents map[string][]byte) (*validate.Schema, error) {
	t.Helper()
	var members map[string]json.RawMessage
	if json.Unmarshal(schema, &members) == nil && members["$id"] == nil {
		members["$id"] = json.RawMessage(`"urn:suite"`) // makes # refer to the schema
		schema = []byte(asJSON(members))
	}
	v, err := validate.Load(document(t, `{"components": {"schemas": {"S": `+string(schema)+`}}}`), validate.Config{Documents: documents})
	if err != nil {
		return nil, err
	}
	s, _ := v.Schema("S")
	return s, nil
}

// All reasons for deviations are in the documentation of the package.
func TestSuite_exceptionsAreDocumented(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "validate.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	harness.Check(t, err)
	documentation := strings.Join(strings.Fields(file.Doc.Text()), " ")
	for name, reason := range suiteExceptions {
		if !strings.Contains(documentation, "- "+reason) {
			t.Errorf("%s: the documentation does not list: %s", name, reason)
		}
	}
}

// metaschemas returns the schemas of JSON Schema 2020-12 itself, from the module of the other implementation.
func metaschemas(t *testing.T) map[string][]byte {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/santhosh-tekuri/jsonschema/v6")
	output, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	root := filepath.Join(strings.TrimSpace(string(output)), "metaschemas", "draft", "2020-12")
	documents := make(map[string][]byte)
	for _, name := range []string{
		"schema", "meta/core", "meta/applicator", "meta/unevaluated", "meta/validation", "meta/meta-data", "meta/format-annotation", "meta/content",
	} {
		text := harness.Try(os.ReadFile(filepath.Join(root, filepath.FromSlash(name))))(t)
		documents["https://json-schema.org/draft/2020-12/"+name] = text
	}
	return documents
}

func asJSON(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err) // only encodable values are given
	}
	return string(encoded)
}

// The reasons for deviations from the official suite of JSON Schema. Each is a list item in the documentation
// of the package.
const (
	goInteger      = "an integer must have no fraction and no exponent, and must fit int64 or its format, like its Go type"
	goTime         = "a date-time must be readable by time.Time: no leap second, no lower-case T or Z"
	plainEmail     = "an email address must have no quotes and no address literal"
	assertedFormat = "a format is an assertion, and an unknown format is an error of Load"
	otherDialect   = "a $schema other than that of 2020-12, and therefore vocabularies and older drafts"
	unknownKeyword = "an unknown keyword, including those that 2020-12 has removed, such as dependencies"
)

// suiteExceptions maps files, groups and cases of the suite to the reason for their deviation.
var suiteExceptions = map[string]string{
	"format.json": assertedFormat,
	"optional/bignum.json: integer: a bignum is an integer":          goInteger,
	"optional/bignum.json: integer: a negative bignum is an integer": goInteger,
	"optional/cross-draft.json":                                      otherDialect,
	"optional/dependencies-compatibility.json":                       unknownKeyword,
	"optional/float-overflow.json":                                   goInteger,
	"optional/format-assertion.json":                                 otherDialect,
	"optional/format/date-time.json: validation of date-time strings: a valid date-time with a leap second, UTC":                  goTime,
	"optional/format/date-time.json: validation of date-time strings: a valid date-time with a leap second, with minus offset":    goTime,
	"optional/format/date-time.json: validation of date-time strings: case-insensitive T and Z":                                   goTime,
	"optional/format/email.json: validation of e-mail addresses: a quoted string with a space in the local part is valid":         plainEmail,
	"optional/format/email.json: validation of e-mail addresses: a quoted string with a double dot in the local part is valid":    plainEmail,
	"optional/format/email.json: validation of e-mail addresses: a quoted string with a @ in the local part is valid":             plainEmail,
	"optional/format/email.json: validation of e-mail addresses: an IPv4-address-literal after the @ is valid":                    plainEmail,
	"optional/format/email.json: validation of e-mail addresses: an IPv6-address-literal after the @ is valid":                    plainEmail,
	"optional/format/idn-email.json: validation of an internationalized e-mail addresses: a non-ASCII quoted local part is valid": plainEmail,
	"optional/format/unknown.json":      assertedFormat,
	"optional/refOfUnknownKeyword.json": unknownKeyword,
	"optional/unknownKeyword.json":      unknownKeyword,
	"type.json: integer type matches integers: a float with zero fractional part is an integer": goInteger,
	"vocabulary.json": otherDialect,
}
