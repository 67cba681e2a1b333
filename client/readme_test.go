package client_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/gobuild"
)

// The Go code in the README and in the guide of the service is from tested examples and generated samples.
func TestREADME_showsTestedExamples(t *testing.T) {
	t.Parallel()
	files := try(filepath.Glob("../server/internal/web/guide/*.md"))(t)
	examples := 0
	for _, file := range append(files, "../README.md") {
		text := try(os.ReadFile(file))(t)
		blocks := regexp.MustCompile("(?s)\\b((?:api|client|server)/[\\w/]+\\.go)\\b.{0,100}?\n```go\n(.*?)```").FindAllSubmatch(text, -1)
		if got := strings.Count(string(text), "```go\n"); len(blocks) != got {
			t.Fatalf("%d of %d examples in %s say which file they are from", len(blocks), got, file)
		}
		for _, block := range blocks {
			examples++
			source := try(os.ReadFile("../" + string(block[1])))(t)
			if !strings.Contains(string(source), string(block[2])) {
				t.Errorf("%s does not contain the example that names it", block[1])
			}
			if doc := strings.ReplaceAll("\n"+string(block[2]), "\n", "\n//"); string(block[1]) == "server/validate/example_test.go" {
				source := try(os.ReadFile("../server/validate/validate.go"))(t)
				if !strings.Contains(string(source), doc) {
					t.Error("the doc of package validate has another example")
				}
			}
		}
	}
	if examples != 5 {
		t.Errorf("there are %d examples", examples)
	}
}

// A test that the README, the page for contributors or the Makefile runs by its name exists.
func TestREADME_namesExistingTests(t *testing.T) {
	t.Parallel()
	var named [][]string
	for _, file := range []string{"../README.md", "../.github/CONTRIBUTING.md", "../Makefile"} {
		content := try(os.ReadFile(file))(t)
		commands := regexp.MustCompile(`(?:cd (\S+) && )?go test [^\n]*-run \S*?(Test[^ ')]+)\S* (\./[a-z/-]+)`).FindAllStringSubmatch(string(content), -1)
		named = append(named, commands...)
	}
	if len(named) < 8 {
		t.Fatalf("the commands are %q", named)
	}
	for _, command := range named {
		for name := range strings.SplitSeq(command[2], "|") {
			check(t, gobuild.FindTest(filepath.Join("..", command[1], command[3]), name))
		}
	}
}

// The recipes for contributors name files that exist, and the help of the Makefile says how long each target takes.
func TestRecipes_nameExistingFilesAndTimes(t *testing.T) {
	t.Parallel()
	recipes := try(os.ReadFile("../.github/CONTRIBUTING.md"))(t)
	places := regexp.MustCompile("`((?:api|client|gen|server)/[a-zA-Z0-9_./-]*)`").FindAllStringSubmatch(string(recipes), -1)
	if len(places) < 30 {
		t.Fatalf("the recipes name %d files", len(places))
	}
	for _, place := range places {
		check(t, errorOf(os.Stat("../"+place[1])))
	}
	makefile := try(os.ReadFile("../Makefile"))(t)
	for _, target := range regexp.MustCompile(`(?m)^([a-z-]+):.*## (.*)$`).FindAllStringSubmatch(string(makefile), -1) {
		if !regexp.MustCompile(`\d+ (second|minute)|until |as generate|how long`).MatchString(target[2]) {
			t.Errorf("make help does not say how long make %s takes", target[1])
		}
	}
}
