package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The package documentation is the manual, which "studiod help" prints completely.
func TestHelp_printsPackageDocumentation(t *testing.T) {
	t.Parallel()
	code, help, stderr := studiod(t, "", "help")
	if code != exitOK {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	commands, _, _ := strings.Cut(help, "DESCRIPTION:")
	for _, command := range rootCommand(nil, nil, nil).Commands {
		if !strings.Contains(commands, "\n   "+command.Name+" ") {
			t.Errorf("%s is not before the manual", command.Name)
		}
	}
	lines := 0
	for line := range strings.Lines(manual()) {
		lines++
		if !strings.Contains(help, strings.TrimSpace(line)) {
			t.Errorf("studiod help lacks %q", line)
		}
	}
	if lines < 50 || strings.Contains(help, "//\n") {
		t.Errorf("the manual has %d lines", lines)
	}
}

func TestHelp_namesExistingTests(t *testing.T) {
	t.Parallel()
	_, security, found := strings.Cut(manual(), "# Security\n")
	security, _, more := strings.Cut(security, "The service does not defend against")
	if !found || !more {
		t.Fatal("the manual does not say what is defended and what is not")
	}
	for item := range strings.SplitSeq(security, "  - ") {
		var tests []string
		for _, word := range strings.FieldsFunc(item, func(r rune) bool { return strings.ContainsRune(" \n,.", r) }) {
			directory := filepath.Join("..", "..", "..", word)
			switch _, err := os.Stat(filepath.Join(directory)); {
			case strings.HasPrefix(word, "Test"):
				tests = append(tests, word)
			case len(tests) > 0 && err == nil:
				for _, test := range tests {
					if !hasTest(t, directory, test) {
						t.Errorf("there is no %s in %s", test, word)
					}
				}
				tests = nil
			}
		}
		if len(tests) > 0 {
			t.Errorf("%v are in no directory", tests)
		}
	}
}

func hasTest(t *testing.T, directory, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(directory, "*_test.go"))
	check(t, err)
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		check(t, err)
		return strings.Contains(string(text), "\nfunc "+name+"(")
	})
}
