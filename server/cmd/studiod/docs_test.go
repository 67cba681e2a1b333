package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/web/guide"
)

// The help lists the commands and then the topics, and prints each topic, which the manual page contains.
func TestHelp_listsCommandsAndPrintsTopics(t *testing.T) {
	t.Parallel()
	run := func(args ...string) string {
		code, stdout, stderr := studiod(t, "", args...)
		if code != exitOK || stderr != "" {
			t.Fatalf("studiod %q: exit code %d, %s", args, code, stderr)
		}
		return stdout
	}
	help, man := run("help"), run("man")
	if alone := run(); alone != help {
		t.Errorf("studiod alone prints\n%s", alone)
	}
	commands, topics, _ := strings.Cut(help, "TOPICS:")
	for _, command := range rootCommand(nil, nil, nil).VisibleCommands() {
		if command.Category == "" && !strings.Contains(commands, "\n   "+command.Name+" ") {
			t.Errorf("the help does not list the command %s first:\n%s", command.Name, help)
		}
	}
	for _, page := range guide.Pages() {
		if !strings.Contains(topics, "\n     "+page.Name+" ") {
			t.Errorf("the help does not list the topic %s:\n%s", page.Name, help)
		}
		if text := run("help", page.Name); text != strings.TrimSpace(page.Text()) || !strings.HasPrefix(text, "# "+strings.ToUpper(page.Title)+"\n\n") {
			t.Errorf("the topic %s begins with %q", page.Name, text[:min(len(text), 80)])
		}
		if !strings.Contains(man, ".SH \""+strings.ReplaceAll(strings.ToUpper(page.Title), "-", `\-`)+"\"\n") {
			t.Errorf("the manual page lacks %s", page.Title)
		}
	}
}

// Each command line of studiod in the guide names a command and its flags. A flag in the text is one of some command.
func TestGuide_namesCommandsAndFlags(t *testing.T) {
	t.Parallel()
	root, lines := rootCommand(nil, nil, nil), 0
	flags := harness.Flags(root)
	for _, page := range guide.Pages() {
		lines += harness.CheckCommands(t, root, page.Markdown())
		for _, flag := range regexp.MustCompile("`(--[a-z-]+)").FindAllStringSubmatch(page.Markdown(), -1) {
			if !flags[flag[1]] {
				t.Errorf("%s: no command has the flag %s", page.Name, flag[1])
			}
		}
	}
	if lines < 40 {
		t.Errorf("the guide has %d command lines", lines)
	}
}
