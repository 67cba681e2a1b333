package main

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api"
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
		"an argument in Latin-1":       {[]string{"avatar", "create", "--title=Zo\xeb"}, "studio: argument 3 must be UTF-8"},
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

// Each list of the document has a command, which sends each parameter of the list if its flag is set.
func TestLists_haveAFlagForEachParameter(t *testing.T) {
	t.Parallel()
	document := try(openapi3.NewLoader().LoadFromData(api.Spec))(t)
	var sent atomic.Pointer[http.Request]
	p := answering(t, func(r *http.Request) string {
		sent.Store(r)
		return `{"data":[],"size":0,"unpublished_projects":0}`
	})
	lists := map[string]bool{}
	for _, command := range p.lists(p.rootCommand(), nil) {
		p.must(t, "", command...)
		request := sent.Load()
		operation := document.Paths.Value(request.URL.Path).GetOperation(request.Method)
		lists[operation.OperationID] = true
		for _, reference := range operation.Parameters {
			parameter := reference.Value
			if parameter.Name == "cursor" || parameter.Name == "X-Request-Id" { // the client sends them
				continue
			}
			flag := "--" + flagOf(parameter.Name) + "=" + valueOf(parameter.Schema.Value)
			if code, _, stderr := p.run(t, "", append(command, flag)...); code != exitOK {
				t.Errorf("client/cmd/studio: studio %s lacks the flag %s for the parameter %s: %s", strings.Join(command, " "), flag, parameter.Name, stderr)
			} else if request := sent.Load(); cmp.Or(request.FormValue(parameter.Name), request.Header.Get(parameter.Name)) == "" {
				t.Errorf("client/cmd/studio: studio %s %s does not send %s", strings.Join(command, " "), flag, parameter.Name)
			}
		}
	}
	for _, item := range document.Paths.Map() {
		for _, operation := range item.Operations() {
			if strings.HasPrefix(operation.OperationID, "list") && !lists[operation.OperationID] {
				t.Errorf("client/cmd/studio: no command calls %s", operation.OperationID)
			}
		}
	}
}

// lists returns the commands that print lists.
func (p *program) lists(command *cli.Command, path []string) (all [][]string) {
	if command.Name == "list" || command.Name == "events" {
		return [][]string{path}
	}
	for _, child := range command.Commands {
		all = append(all, p.lists(child, append(slices.Clip(path), child.Name))...)
	}
	return all
}

// flagOf returns the flag for a parameter, which has fewer words, because the name of the command has the others.
func flagOf(parameter string) string {
	switch parameter {
	case "x-workspace-id":
		return "workspace"
	case "event_type":
		return "type"
	case "event_id":
		return "id"
	default:
		return strings.TrimSuffix(parameter, "_id")
	}
}

func valueOf(schema *openapi3.Schema) string {
	switch {
	case len(schema.Enum) > 0:
		return fmt.Sprint(schema.Enum[0])
	case schema.Type.Is("boolean"):
		return "true"
	case schema.Type.Is("integer"):
		return "7"
	case schema.Format == "date-time":
		return "2026-01-02T03:04:05Z"
	default:
		return "en"
	}
}
