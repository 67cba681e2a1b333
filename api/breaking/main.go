// Command breaking compares api/openapi.yaml with the document of an earlier commit and fails when a
// change breaks somebody who relies on the earlier one and api/CHANGES.md does not say so.
//
//	go run . -base COMMIT
//
// Requests and answers are compared as oasdiff compares them. Webhooks are compared in their own
// direction: the service sends them, so a member that is added is harmless and one that is removed
// breaks receivers.
//
// A line of api/CHANGES.md covers a break when COMMIT does not have the line and the line names the
// operation in backquotes, as in `POST /users/login` or `webhook avatar_event`.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// errUncovered is returned when api/CHANGES.md does not name a breaking change.
var errUncovered = errors.New("api/CHANGES.md has no new line for the breaking changes above")

func main() {
	base := flag.String("base", "", "the commit to compare with")
	flag.Parse()
	if err := run(*base, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "breaking:", err)
		os.Exit(1)
	}
}

func run(base string, out io.Writer) error {
	before, err := atCommit(base, "api/openapi.yaml")
	if err != nil {
		return err
	}
	after, err := os.ReadFile("../openapi.yaml")
	if err != nil {
		return err
	}
	breaks, err := compare(before, after)
	if err != nil {
		return err
	}
	earlier, err := atCommit(base, "api/CHANGES.md")
	if err != nil {
		earlier = nil // the commit may be older than api/CHANGES.md
	}
	changes, err := os.ReadFile("../CHANGES.md")
	if err != nil {
		return err
	}
	return judge(out, breaks, newLines(string(earlier), string(changes)))
}

// judge prints every breaking change and returns errUncovered if the lines do not cover one of them.
func judge(out io.Writer, breaks []finding, lines []string) error {
	var uncovered error
	for _, b := range breaks {
		mark := "listed"
		if !covered(b.operation, lines) {
			mark, uncovered = "NOT LISTED", errUncovered
		}
		fmt.Fprintf(out, "%-10s  `%s`: %s (%s)\n", mark, b.operation, b.text, b.rule)
	}
	fmt.Fprintf(out, "%d breaking changes\n", len(breaks))
	return uncovered
}

func covered(operation string, lines []string) bool {
	for _, line := range lines {
		if strings.Contains(line, "`"+operation+"`") {
			return true
		}
	}
	return false
}

// newLines returns the lines of after that are not in before.
func newLines(before, after string) []string {
	old := make(map[string]bool)
	for line := range strings.Lines(before) {
		old[strings.TrimSpace(line)] = true
	}
	var added []string
	for line := range strings.Lines(after) {
		if line = strings.TrimSpace(line); !old[line] {
			added = append(added, line)
		}
	}
	return added
}

func atCommit(commit, path string) ([]byte, error) {
	if commit == "" || strings.HasPrefix(commit, "-") {
		return nil, errors.New("-base must name a commit")
	}
	content, err := exec.Command("git", "show", commit+":"+path).Output() //nolint:gosec // no flag, and not a shell
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("git show %s:%s: %s", commit, path, exit.Stderr)
	}
	return content, err
}
