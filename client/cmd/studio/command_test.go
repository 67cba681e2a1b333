package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

func TestCommands_reportInputErrorsInOneLine(t *testing.T) {
	t.Parallel()
	const base = "--base-url=http://127.0.0.1:1"
	empty := filepath.Join(t.TempDir(), "empty.mp4")
	check(t, os.WriteFile(empty, nil, 0o600))
	for _, test := range map[string]struct {
		args []string
		want string
	}{
		"an unknown command":           {[]string{"avatr"}, `unknown command "avatr"; did you mean avatar?`},
		"an unknown flag":              {[]string{"project", "list", "--worksapce"}, "unknown flag --worksapce; did you mean --workspace? see studio project list --help"},
		"a command like no other":      {[]string{"lipsync", "obtain"}, `unknown command "obtain"; see studio lipsync --help`},
		"a flag like no other":         {[]string{"project", "list", "-o", "x"}, "unknown flag -o; see studio project list --help"},
		"a missing flag":               {[]string{"lipsync", "download", "ID"}, "missing flag --output; see studio lipsync download --help"},
		"an empty file name":           {[]string{"lipsync", "download", base, "-o", "", "ID"}, "--output"},
		"an extra argument":            {[]string{"project", "list", "now"}, "usage: studio project list"},
		"help as an argument":          {[]string{"project", "list", "help"}, "usage: studio project list"},
		"an empty file":                {[]string{"lipsync", "create", base, "--video", empty}, "--video is an empty file"},
		"an empty argument":            {[]string{"avatar", "show", base, ""}, "usage: studio avatar show ID"},
		"an argument in Latin-1":       {[]string{"avatar", "create", "--title=Zo\xeb"}, `"--title=Zo\xeb" must be UTF-8`},
		"a password as a flag":         {[]string{"login", "--password=hunter2"}, "password"},
		"a login without a service":    {[]string{"login", "--email=a", "--password-stdin"}, "--base-url"},
		"a login over plain http":      {[]string{"login", "--base-url=http://example.com", "--email=a", "--password-stdin"}, "BaseURL: must be https"},
		"a login without an email":     {[]string{"login", "--base-url=http://127.0.0.1:1"}, "--email"},
		"a login without a password":   {[]string{"login", "--base-url=http://127.0.0.1:1", "--email=a"}, "--password-stdin"},
		"an invalid limit":             {[]string{"avatar", "list", "--limit=0"}, "positive"},
		"a limit that is no number":    {[]string{"avatar", "list", "--limit=x"}, "for flag --limit: must be a whole number; see"},
		"a speed that JSON lacks":      {[]string{"video", "create", "--avatar=a", "--text=a", "--speed=NaN"}, "from 0.5 to 2; see"},
		"a test without a URL":         {[]string{"webhook", "test"}, "usage: studio webhook test URL"},
		"a test of an unknown event":   {[]string{"webhook", "test", base, "--event=party", "https://hooks.example.com/"}, "--event"},
		"no decision":                  {[]string{"avatar", "consent", base, "ID"}, "either"},
		"an invalid address":           {[]string{"listen", base, "--addr=here"}, "HOST:PORT"},
		"forwarding to an invalid URL": {[]string{"listen", base, "--forward=/hooks"}, "--forward"},
		"notifications of the past":    {[]string{"listen", base, "--addr=127.0.0.1:0", "--since=1h"}, "either"},
	} {
		p := newTest(t)
		p.Env.Token = "a"
		p.mustFail(t, exitUsage, test.want, test.args...)
	}
}

// Each command line of studio in the README and in the guide of the service names a command and its flags.
func TestGuide_namesCommandsAndFlags(t *testing.T) {
	t.Parallel()
	pages := try(filepath.Glob("../../../server/internal/web/guide/*.md"))(t)
	root, lines := newTest(t).rootCommand(), 0
	for _, page := range append(pages, "../../../README.md") {
		content := try(os.ReadFile(page))(t)
		lines += harness.CheckCommands(t, root, string(content))
	}
	if lines < 10 {
		t.Errorf("there are %d command lines", lines)
	}
}

// The help of every command and group has an example of it.
func TestCommands_haveHelpWithExamples(t *testing.T) {
	t.Parallel()
	p := newTest(t)
	help := func(args ...string) string {
		text := p.must(t, "", args...)
		path := strings.Join(append([]string{"studio"}, args[:len(args)-1]...), " ")
		if _, examples, _ := strings.Cut(text, "Examples:\n"); !strings.Contains(examples, path) {
			t.Errorf("the help of %s is %s", path, text)
		}
		return text
	}
	harness.CheckHelp(t, p.rootCommand(), help)
	for code := range strings.SplitSeq("0 ,1 ,2 ,3 ,4 ,5 ,130", ",") {
		if !strings.Contains(help("--help"), "\n     "+code) {
			t.Errorf("the help does not explain exit code %s", code)
		}
	}
}
