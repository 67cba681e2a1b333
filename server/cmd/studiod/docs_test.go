package main

import (
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
	for _, command := range rootCommand(nil, nil, nil).VisibleCommands() {
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
