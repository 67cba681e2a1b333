package api_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/gobuild"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// rows calls visit with the columns of each line of a table. Columns are separated by two spaces.
func rows(t *testing.T, table string, visit func(columns []string, indented bool)) {
	t.Helper()
	text := harness.Try(os.ReadFile(filepath.Join("testdata", table)))(t)
	for line := range strings.Lines(string(text)) {
		if line != "\n" && line[0] != '#' {
			visit(regexp.MustCompile(` {2,}`).Split(strings.TrimSpace(line), -1), line[0] == ' ')
		}
	}
}

// The document has each element of the interface, and what it adds is marked.
func TestDocument_hasTheInterface(t *testing.T) {
	t.Parallel()
	d := loadObject(t)
	left := d.elements()
	rows(t, "interface.txt", func(columns []string, _ bool) {
		names := strings.Fields(columns[1])
		elements := names[:1]
		if isMethod(strings.ToLower(names[0])) || names[0] == "webhook" {
			elements = []string{columns[1]}
		} else if len(names) > 1 {
			elements = nil
			for _, member := range names[1:] {
				elements = append(elements, names[0]+" "+member)
			}
		}
		for _, name := range elements {
			e := left[name]
			if shape := d.shape(e.object); e.section != columns[0] || shape != columns[2] {
				t.Errorf("api/openapi.yaml: %s has the section and shape\n%s  %s, and in api/testdata/interface.txt\n%s  %s", name, e.section, shape, columns[0], columns[2])
			}
			delete(left, name)
		}
	})
	for name, e := range left {
		if e.section != "extension" {
			t.Errorf("api/openapi.yaml: %s has the x-interface %s, but no row in api/testdata/interface.txt; what the interface does not show is an extension", name, e.section)
		}
	}
}

// Which sentences promise behaviour, no program knows. But each operation promises something.
func TestDocument_promisesWhatTestsHold(t *testing.T) {
	t.Parallel()
	d := loadObject(t)
	elements, held := d.elements(), map[string]bool{}
	element := ""
	rows(t, "sentences.txt", func(columns []string, indented bool) {
		if !indented {
			element = columns[0]
			return
		}
		if !strings.Contains(elements[element].description(), strings.Trim(columns[0], `"`)) {
			t.Errorf("api/testdata/sentences.txt: the description of %s does not contain %s", element, columns[0])
		}
		if err := gobuild.FindTest("../"+columns[1], columns[2]); err != nil {
			t.Errorf("api/testdata/sentences.txt: %s %s: %v", element, columns[0], err)
		}
		held[element] = true
	})
	d.eachOperation(func(name string, _ object) {
		if !held[name] {
			t.Errorf("api/testdata/sentences.txt: no sentence of %s has a test", name)
		}
	})
}

// What holds for all elements of a kind, no row needs to state. "make check-document" checks their summaries and tags.
func TestDocument_followsTheRules(t *testing.T) {
	t.Parallel()
	d := loadObject(t)
	schemas := d.at("components", "schemas")
	for name := range schemas {
		checkSchema(t, d, name, schemas.at(name))
	}
	for _, group := range []string{"headers", "parameters", "responses", "securitySchemes"} {
		for name := range d.at("components", group) {
			if d.at("components", group, name).description() == "" {
				t.Errorf("api/openapi.yaml: %s has no description", name)
			}
		}
	}
	for _, group := range []string{"paths", "webhooks"} {
		for path := range d.at(group) {
			for key := range d.at(group, path) {
				if !isMethod(key) && key != "x-interface" {
					t.Errorf("api/openapi.yaml: %s has %s, which belongs to its operations", path, key)
				}
				if (key == "get" || key == "delete") && d.at(group, path, key)["requestBody"] != nil {
					t.Errorf("api/openapi.yaml: %s %s has a body", key, path)
				}
			}
			if slices.ContainsFunc(strings.Split(path, "/"), isMethod) {
				t.Errorf("api/openapi.yaml: %s contains a method", path)
			}
		}
	}
	d.eachOperation(func(name string, operation object) {
		if webhook, ok := strings.CutPrefix(name, "webhook "); ok {
			if cites := d.at("webhooks", webhook)["x-interface"]; cites != operation["x-interface"] {
				t.Errorf("api/openapi.yaml: %s cites %v", name, cites)
			}
			return
		}
		checkResponses(t, d, name, operation)
	})
}

func checkSchema(t *testing.T, d object, name string, schema object) {
	t.Helper()
	if schema.description() == "" {
		t.Errorf("api/openapi.yaml: %s has no description", name)
	}
	members := schema.at("properties")
	for _, member := range schema.strings("required") {
		if target := d.resolve(members.at(member)); target == nil || slices.Contains(asList(target["type"]), any("null")) {
			t.Errorf("api/openapi.yaml: %s %s is required, but missing or nullable", name, member)
		}
	}
	for member := range members {
		m := members.at(member)
		if d.resolve(m).description() == "" {
			t.Errorf("api/openapi.yaml: %s %s has no description", name, member)
		}
		if m["type"] == "object" {
			t.Errorf("api/openapi.yaml: %s %s is an object that is not a component", name, member)
		}
		// The interface leaves open which members the objects of requests in sections 4.3 and 6.1 have.
		if m["x-interface"] == "extension" && !slices.Contains([]any{"extension", "4.3", "6.1"}, schema["x-interface"]) {
			t.Errorf("api/openapi.yaml: %s %s is an extension of a complete object", name, member)
		}
	}
}

// checkResponses checks that a response has the headers that its status requires, and that an error has no others. An
// error is a problem document, whose examples have its status and mention only parameters and members of the operation.
func checkResponses(t *testing.T, d object, name string, operation object) {
	t.Helper()
	required := map[string]string{"401": "WWW-Authenticate", "429": "Retry-After", "503": "Retry-After"}
	login := operation["operationId"] == "login" // it has no authenticated user, whose rate could be limited
	for status := range operation.at("responses") {
		response := d.resolve(operation.at("responses", status))
		want := []string{"X-Request-Id"}
		if header := required[status]; header != "" {
			want = append(want, header)
		}
		if status == "429" && !login {
			want = append(want, "RateLimit", "RateLimit-Policy")
		}
		headers := response.at("headers")
		isOwn := func(name string) bool { return status < "400" && !slices.Contains(want, name) }
		if got := slices.DeleteFunc(slices.Sorted(maps.Keys(headers)), isOwn); !slices.Equal(got, slices.Sorted(slices.Values(want))) || component(headers.at("X-Request-Id")) != "RequestID" {
			t.Errorf("api/openapi.yaml: %s %s has the headers %v, want %v", name, status, got, want)
		}
		if status < "400" {
			continue
		}
		if media := response.at("content"); len(media) != 1 || component(media.at("application/problem+json", "schema")) != "Problem" {
			t.Errorf("api/openapi.yaml: %s %s is not a problem document", name, status)
		}
		examples := response.at("content", "application/problem+json", "examples")
		for example := range examples {
			problem := examples.at(example, "value")
			if got := fmt.Sprint(problem["status"]); got != status {
				t.Errorf("api/openapi.yaml: %s %s example %s has the status %s", name, status, example, got)
			}
			for _, violation := range problem.list("errors") {
				if pointer := fmt.Sprint(violation["pointer"]); !d.accepts(operation, pointer) {
					t.Errorf("api/openapi.yaml: %s %s example %s has the unknown pointer %s", name, status, example, pointer)
				}
			}
		}
	}
	tooMany := component(operation.at("responses", "429"))
	if special := tooMany != "" && tooMany != "TooManyRequests"; special != strings.Contains(operation.description(), "429") {
		t.Errorf("api/openapi.yaml: %s must mention 429 if and only if it has a limit of its own", name)
	}
}

// accepts reports whether an operation has the parameter or the member that a pointer refers to.
func (d object) accepts(operation object, pointer string) bool {
	if in, name, ok := strings.Cut(pointer, ":"); ok {
		return slices.ContainsFunc(operation.list("parameters"), func(reference object) bool {
			parameter := d.resolve(reference)
			return parameter["in"] == in && parameter["name"] == name
		})
	}
	schema := d.resolve(operation.at("requestBody", "content", "application/json", "schema"))
	for member := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		schema = d.resolve(schema.at("properties", member))
		if union := schema.list("oneOf"); len(union) > 0 {
			schema = d.resolve(union[0])
		}
	}
	return schema != nil
}
