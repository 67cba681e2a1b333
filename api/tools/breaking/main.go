// Command breaking compares api/openapi.yaml with that of an earlier commit. It fails if a change that it judges breaks
// users of the earlier document and api/CHANGES.md does not list it.
//
//	go run . -base COMMIT
//
// Requests and responses are compared by oasdiff, and by rules of our own for credentials, media types, redirects and
// what oasdiff does not see in schemas. The file verdicts.txt says which changes that oasdiff knows are breaking.
// Parameters and headers, and how they and the fields of forms are written, are compared like members of bodies. A
// stream is compared like the array of its items. A status that only one document has is compared with the range, or if
// it is an error, with the default of the other. What users may rely on is breaking too if it is optional: the members
// and headers of a response, and defaults. Notifications of webhooks are compared like responses, because the service
// sends them: an additional member is compatible, and a removed member breaks receivers. So are their headers and
// query, and callbacks, which are changes of their operation unless they refer to a webhook. The responses to both are
// compared like requests.
//
// It does not judge the URLs of servers, the flows of OAuth, an added discriminator, numbers that no float64 holds, and
// what only texts say, and compares JSON in a field of multipart/form-data like text. For it, the alternatives of a
// oneOf exclude each other, and a new member is one that nobody has sent. It also reports changes that break nobody:
// 2XX that becomes 200, a schema that becomes one of several, or a part of an allOf or no longer one, another name of
// such a component, exclusiveMinimum for an equal minimum, a format that minimum and maximum imply, prefixItems added
// to a response, every change of a dependentRequired, and an enum or a union of a component that one operation no
// longer uses, if another one still does.
//
// api/CHANGES.md lists a breaking change if it has a line that COMMIT does not have and that names the operation in
// backquotes, as in `POST /users/login` or `webhook avatar_event`.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// errUnlisted is returned if api/CHANGES.md does not list a breaking change.
var errUnlisted = errors.New("api/CHANGES.md has no new line for the changes marked NOT LISTED")

func main() {
	base := flag.String("base", "", "commit to compare with")
	flag.Parse()
	if err := run("../..", *base, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "breaking:", err)
		os.Exit(1)
	}
}

// run compares the document in a directory with that of a commit.
func run(dir, base string, out io.Writer) error {
	before, err := atCommit(dir, base, "openapi.yaml")
	if err != nil {
		return err
	}
	after, err := os.ReadFile(filepath.Join(dir, "openapi.yaml"))
	if err != nil {
		return err
	}
	breaks, err := compare(before, after)
	if err != nil {
		return err
	}
	earlier, _ := atCommit(dir, base, "CHANGES.md") // the commit may be older
	changes, err := os.ReadFile(filepath.Join(dir, "CHANGES.md"))
	if err != nil {
		return err
	}
	return report(out, breaks, newLines(string(earlier), string(changes)))
}

// report prints every breaking change and returns errUnlisted if a change has no line.
func report(out io.Writer, breaks []finding, lines []string) error {
	var unlisted error
	for _, b := range breaks {
		mark := "listed"
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, "`"+b.operation+"`") }) {
			mark, unlisted = "NOT LISTED", errUnlisted
		}
		fmt.Fprintf(out, "%-10s  `%s`: %s (%s)\n", mark, b.operation, b.text, b.rule)
	}
	fmt.Fprintf(out, "%d breaking changes\n", len(breaks))
	return unlisted
}

// newLines returns the lines of after that are not in before.
func newLines(before, after string) []string {
	old := strings.Split(before, "\n")
	return slices.DeleteFunc(strings.Split(after, "\n"), func(line string) bool { return slices.Contains(old, line) })
}

// atCommit returns the content of a file of a directory at a commit.
func atCommit(dir, commit, name string) ([]byte, error) {
	if commit == "" || strings.HasPrefix(commit, "-") {
		return nil, errors.New("-base must name a commit")
	}
	content, err := exec.Command("git", "-C", dir, "show", commit+":./"+name).Output() //nolint:gosec // no flag and no shell
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("git show %s:./%s: %s", commit, name, exit.Stderr)
	}
	return content, err
}
