package api_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/api/harness"
)

// The document generates the same code if it has a file for each tag, as the package documentation says.
func TestWalkthrough_splitsTheDocumentByTag(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it compiles the generator")
	w := newWorkspace(t)
	before := w.generated()
	files := splitByTag(t, string(api.Spec))
	if len(files) < 5 {
		t.Errorf("there are only %d files", len(files))
	}
	for name, text := range files {
		w.check(os.WriteFile(filepath.Join(w.dir, "api", name), []byte(text), 0o600))
	}
	if output, err := w.run("make", "generate"); err != nil {
		t.Fatal(output)
	}
	after := w.generated()
	for name, text := range before {
		switch {
		case name == "server/document.gen.json": // the order of the components changes
		case name == "api/bundle.gen.yaml":
			var want, got any
			w.check(yaml.Unmarshal([]byte(text), &want))
			w.check(yaml.Unmarshal([]byte(after[name]), &got))
			if !reflect.DeepEqual(want, got) {
				t.Error("the bundle is another document")
			}
		case after[name] != text:
			t.Errorf("%s changes", name)
		}
	}
	if len(before) < 80 || len(after) != len(before) {
		t.Errorf("there are %d generated files, and then %d", len(before), len(after))
	}
}

// generated returns the generated files by path.
func (w workspace) generated() map[string]string {
	w.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*/*.gen.*", "*/*/*.gen.*", "api/_samples/*"} {
		names, err := filepath.Glob(filepath.Join(w.dir, filepath.FromSlash(pattern)))
		w.check(err)
		for _, name := range names {
			text, err := os.ReadFile(name)
			w.check(err)
			name, err = filepath.Rel(w.dir, name)
			w.check(err)
			all[filepath.ToSlash(name)] = string(text)
		}
	}
	return all
}

// splitByTag moves each path item and webhook of the document to a file for the tag of its first operation, and each schema
// to the file that refers to it, if there is only one.
func splitByTag(t *testing.T, text string) map[string]string {
	t.Helper()
	const inFile = "'#/components/"
	files := map[string]string{"openapi.yaml": text}
	// move moves parts of the main file, which begin with two or four spaces, and leaves a reference if they are no components.
	move := func(group, indent string, to func(name, part string) string) {
		before, rest, ok := strings.Cut(files["openapi.yaml"], "\n"+indent[2:]+group+":\n")
		if !ok {
			t.Fatalf("the document has no %s", group)
		}
		end := regexp.MustCompile(`(?m)^` + indent[2:] + `\S`).FindStringIndex(rest + "\nend")[0]
		kept := ""
		parts := regexp.MustCompile(`(?m)^`+indent+`\S`).FindAllStringIndex(rest[:end], -1)
		for i, at := range parts {
			part := rest[at[0]:end]
			if i+1 < len(parts) {
				part = rest[at[0]:parts[i+1][0]]
			}
			name := strings.TrimSpace(part[:strings.Index(part, ":\n")])
			file := to(name, part)
			if file == "" {
				kept += part
				continue
			}
			path := "/" + group + "/" + strings.ReplaceAll(name, "/", "~1")
			heading := group + ":\n"
			if group == "schemas" {
				heading = "components:\n  schemas:\n"
			} else {
				kept += fmt.Sprintf("%s%s:\n%s  $ref: '%s#%s'\n", indent, name, indent, file, path)
			}
			above, below, ok := strings.Cut(files[file], heading)
			if !ok {
				above = files[file]
			}
			files[file] = above + heading + part + below
		}
		files["openapi.yaml"] = before + "\n" + indent[2:] + group + ":\n" + kept + rest[end:]
	}
	tag := regexp.MustCompile(`(?m)^ *tags: \[(.+)\]`)
	byTag := func(_, part string) string {
		return strings.ToLower(strings.ReplaceAll(tag.FindStringSubmatch(part)[1], " ", "-")) + ".yaml"
	}
	move("paths", "  ", byTag)
	move("webhooks", "  ", byTag)
	moved := map[string]string{}
	for previous := -1; len(moved) > previous; {
		previous = len(moved)
		move("schemas", "    ", func(name, part string) (only string) {
			for file, text := range files {
				if !strings.Contains(strings.Replace(text, part, "", 1), inFile+"schemas/"+name+"'") {
					continue
				}
				if only != "" || file == "openapi.yaml" {
					return ""
				}
				only = file
			}
			if only != "" {
				moved[name] = only
			}
			return only
		})
	}
	if len(moved) < 20 {
		t.Errorf("only %d schemas have moved", len(moved))
	}
	reference := regexp.MustCompile(`'#/(components/\w+|webhooks)/(\w+)'`)
	for file, text := range files {
		files[file] = reference.ReplaceAllStringFunc(text, func(found string) string {
			home := "openapi.yaml"
			if parts := reference.FindStringSubmatch(found); parts[1] == "components/schemas" && moved[parts[2]] != "" {
				home = moved[parts[2]]
			}
			if home == file {
				return found
			}
			return "'" + home + found[1:]
		})
	}
	return files
}
