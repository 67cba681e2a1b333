package client_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The Go code in the README is code from tested examples.
func TestREADME_showsTestedExamples(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)\\(([a-z/]+example_test\\.go)\\)[^`]*```go\n(.*?)```").FindAllSubmatch(readme, -1)
	if got := strings.Count(string(readme), "```go"); len(blocks) != got || got == 0 {
		t.Fatalf("%d of %d examples say which file they are from", len(blocks), got)
	}
	for _, block := range blocks {
		source, err := os.ReadFile("../" + string(block[1]))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(source), string(block[2])) {
			t.Errorf("%s does not contain the example that names it", block[1])
		}
	}
}
