package harness

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/urfave/cli/v3"
)

// CheckCommands fails a test if a command line in the code of a Markdown text names a command that root does not have,
// or a flag that the command does not have. It returns the number of command lines of root.
func CheckCommands(t testing.TB, root *cli.Command, markdown string) int {
	t.Helper()
	lines := 0
	for _, code := range regexp.MustCompile("(?s)```sh\n(.*?)```|`([^`]+)`").FindAllStringSubmatch(markdown, -1) {
		text := regexp.MustCompile(`(?m) +#.*$`).ReplaceAllString(strings.ReplaceAll(code[1]+code[2], "\n--", " --"), "")
		for _, line := range regexp.MustCompile(`\b`+root.Name+` ([^;|&\n]+)`).FindAllStringSubmatch(text, -1) {
			lines++
			command, words := root, strings.Fields(line[1])
			for len(words) > 0 && command.Command(words[0]) != nil {
				command, words = command.Command(words[0]), words[1:]
			}
			if len(command.Commands) > 0 && words[0] != "help" {
				t.Errorf("%q names no command", line[1])
			}
			for _, word := range words {
				if flag, _, _ := strings.Cut(word, "="); strings.HasPrefix(flag, "--") && !Flags(command)[flag] {
					t.Errorf("the command in %q has no flag %s", line[1], flag)
				}
			}
		}
	}
	return lines
}

// Flags returns the flags of a command and its subcommands, such as "--json".
func Flags(command *cli.Command) map[string]bool {
	all := make(map[string]bool)
	for _, flag := range command.Flags {
		all["--"+flag.Names()[0]] = true
	}
	for _, child := range command.Commands {
		for flag := range Flags(child) {
			all[flag] = true
		}
	}
	return all
}

// CheckHelp fails a test if the help of root or a command below it has a line of more than 120 columns, or lacks a flag
// or the default of a boolean one. help returns what root prints for arguments.
func CheckHelp(t testing.TB, root *cli.Command, help func(args ...string) string) {
	t.Helper()
	var walk func(command *cli.Command, path []string)
	walk = func(command *cli.Command, path []string) {
		text := help(append(path, "--help")...)
		for line := range strings.Lines(text) {
			if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > 120 {
				t.Errorf("a line of the help of %v has more than 120 columns: %s", path, line)
			}
		}
		words := strings.Join(strings.Fields(text), " ")
		for _, flag := range command.VisibleFlags() {
			want := " --" + flag.Names()[0] + " "
			if boolean, ok := flag.(*cli.BoolFlag); ok {
				want += boolean.Usage + " (default: " + boolean.GetValue() + ")"
			}
			if !strings.Contains(words, want) {
				t.Errorf("the help of %v lacks %q: %s", path, want, text)
			}
		}
		for _, child := range command.VisibleCommands() {
			if !child.HideHelp {
				walk(child, append(slices.Clone(path), child.Name))
			}
		}
	}
	walk(root, nil)
}
