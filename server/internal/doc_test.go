package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// The page names what the ways through the service need, and no more than a reader can hold: each name is declared in
// its room and used there or by another room of the way, and the number in the heading is right.
func TestDoc_namesWhatMustBeHeld(t *testing.T) {
	t.Parallel()
	limits := map[string]int{"creation": 28, "event": 24, "rendering": 20}
	page := harness.Try(os.ReadFile("doc.go"))(t)
	if lines := strings.Count(string(page), "\n"); lines > 60 {
		t.Errorf("the page has %d lines, want at most 60", lines)
	}
	heading := regexp.MustCompile(`// # An? (\w+), .*: (\d+) names`)
	for _, part := range regexp.MustCompile(`(?m)^// # `).Split(string(page), -1)[1:] {
		title, _, _ := strings.Cut("// # "+part, "\n")
		match := heading.FindStringSubmatch(title)
		if match == nil || limits[match[1]] == 0 {
			t.Fatalf("no way has the heading %q", title)
		}
		want := limits[match[1]]
		t.Run(match[1], func(t *testing.T) {
			t.Parallel()
			names, used := make(map[string]bool), make(map[string]int)
			rooms := make(map[string]map[string]bool)
			rows := regexp.MustCompile(`(?m)^//\t(\S+) +(\S.*)$`).FindAllStringSubmatch(part, -1)
			for _, row := range rows {
				if rooms[row[1]] == nil {
					rooms[row[1]] = readRoom(t, filepath.Join("..", "..", row[1]), used)
				}
			}
			for _, row := range rows {
				for name := range strings.SplitSeq(row[2], ", ") {
					if !rooms[row[1]][name] {
						t.Errorf("%s does not declare %s", row[1], name)
					}
					_, method, isMethod := strings.Cut(name, ".")
					if !isMethod {
						method = name
					}
					if used[method] == 0 {
						t.Errorf("no room of the way uses %s of %s", name, row[1])
					}
					if names[row[1]+" "+name] {
						t.Errorf("%s is named twice", name)
					}
					names[row[1]+" "+name] = true
				}
			}
			if len(names) > want || match[2] != strconv.Itoa(len(names)) {
				t.Errorf("%q has %d names, want at most %d", title, len(names), want)
			}
		})
		delete(limits, match[1])
	}
	if len(limits) > 0 {
		t.Errorf("the page lacks %v", limits)
	}
}

// The rooms stand one above the other: what a room imports of others is below it. Tests may import what they need.
func TestRooms_importNothingAbove(t *testing.T) {
	t.Parallel()
	floors := []string{"pathtemplate", "regularfile", "telemetry", "studio", "memstore", "media", "store", "render", "deliver", "api", "web", "operate", "testing"}
	const prefix = "github.com/avatarstudio/avatarstudio/server/internal/"
	floor := func(path string) int {
		room, _, _ := strings.Cut(path, "/")
		return slices.Index(floors, room)
	}
	crossings := 0
	harness.Check(t, filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.Contains(path, "/") || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		if floor(path) < 0 {
			t.Errorf("%s is in no room", path)
		}
		file := harness.Try(parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly))(t)
		for _, one := range file.Imports {
			imported, ok := strings.CutPrefix(strings.Trim(one.Path.Value, `"`), prefix)
			if !ok || floor(imported) == floor(path) {
				continue
			}
			if crossings++; floor(imported) > floor(path) {
				t.Errorf("%s imports %s, which is above it", path, imported)
			}
		}
		return nil
	}))
	if crossings == 0 {
		t.Error("no room imports another")
	}
}

// readRoom returns the names that the package in a directory declares, and counts the uses of names in it.
func readRoom(t *testing.T, dir string, used map[string]int) map[string]bool {
	t.Helper()
	declared := make(map[string]bool)
	paths := harness.Try(filepath.Glob(filepath.Join(dir, "*.go")))(t)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file := harness.Try(parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution))(t)
		for node := range ast.Preorder(file) {
			switch node := node.(type) {
			case *ast.Ident:
				used[node.Name]++
			case *ast.TypeSpec:
				declared[node.Name.Name] = true
				used[node.Name.Name]--
			case *ast.FuncDecl:
				receiver := ""
				if node.Recv != nil {
					receiver, _, _ = strings.Cut(strings.TrimPrefix(types.ExprString(node.Recv.List[0].Type), "*"), "[")
				}
				declared[strings.TrimPrefix(receiver+"."+node.Name.Name, ".")] = true
				used[node.Name.Name]--
			}
		}
	}
	return declared
}
