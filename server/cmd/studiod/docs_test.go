package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/web/guide"
)

// The help lists and prints the topics, which the manual page contains.
func TestHelp_printsTopics(t *testing.T) {
	t.Parallel()
	help, man := must(t, "", "help"), must(t, "", "man")
	for _, page := range guide.Pages() {
		if text := must(t, "", "help", page.Name); text != strings.TrimSpace(page.Text()) || !strings.Contains(help, "\n     "+page.Name+" ") ||
			!strings.Contains(man, ".SH \""+strings.ReplaceAll(strings.ToUpper(page.Title), "-", `\-`)+"\"\n") {
			t.Errorf("the help or the manual page lacks the topic %s", page.Name)
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
