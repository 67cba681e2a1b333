package api_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// edit inserts text into a document after the first match of the expression after.
type edit struct{ after, text string }

// walkthrough contains edits for the recipes in CONTRIBUTING.md, with the indentation of the document. The random
// documents of package smith have events.
var walkthrough = []edit{
	// An operation with a parameter in its path.
	{`(?m)^paths:\n`, `  /v1/avatars/{avatar_id}:
    parameters:
      - { name: avatar_id, in: path, required: true, x-interface: extension, description: An avatar., schema: { type: string, minLength: 8 } }
    delete:
      operationId: removeAvatar
      x-interface: extension
      tags: [Avatars]
      summary: Remove an avatar
      security: [ bearerAuth: [] ]
      responses:
        '204': { description: It is gone. }
        '400': { $ref: '#/components/responses/BadRequest' }
        '401': { $ref: '#/components/responses/Unauthorized' }
        '404': { $ref: '#/components/responses/NotFound' }
`},
	// An optional parameter.
	{`operationId: getAvatar\n(?s:.*?)parameters:\n`, `        - { name: parts, in: query, x-interface: extension, description: What to answer., schema: { type: array, maxItems: 2, items: { type: string, enum: [face, voice] } } }
`},
	// A required member.
	{`(?m)^    Avatar:\n      type: object(?s:.*?)required: \[`, `quality, `},
	{`(?m)^    Avatar:\n      type: object(?s:.*?)properties:\n`, `        quality: { type: string, minLength: 1, x-interface: extension, description: How good it is. }
`},
}

// handler is the minimal code that compiles after the edits.
const handler = `package rest

import (
	"context"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func (a *API) RemoveAvatar(ctx context.Context, r gen.RemoveAvatarRequestObject) (gen.RemoveAvatarResponseObject, error) {
	return gen.RemoveAvatar204Response{}, a.studio.Delete(ctx, caller(ctx), studio.Avatar, r.AvatarID)
}
`

// After an edit of the document and make generate, the compiler reports all code that must change by hand.
func TestWalkthrough_compilerReportsRequiredChanges(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it compiles the packages twice")
	w := newWorkspace(t)
	document := filepath.Join(w.dir, "api", "openapi.yaml")
	text := harness.Try(os.ReadFile(document))(w)
	for _, e := range walkthrough {
		at := regexp.MustCompile(e.after).FindIndex(text)
		if at == nil {
			t.Fatalf("the document does not match %s", e.after)
		}
		text = slices.Concat(text[:at[1]], []byte(e.text), text[at[1]:])
	}
	harness.Check(w, os.WriteFile(document, text, 0o644))
	if output, err := w.run("make", "generate"); err != nil {
		t.Fatal(output)
	}

	output, _ := w.run("go", "list", "-export", "./...") // compiles as "go build" does, without linking
	want := []string{"server/internal/api/rest/avatars.go", "server/internal/api/rest/rest.go"}
	if diff := cmp.Diff(want, broken(output)); diff != "" {
		t.Errorf("files that do not compile (-want +got):\n%s\n%s", diff, output)
	}

	harness.Check(w, os.WriteFile(filepath.Join(w.dir, "server/internal/api/rest/walkthrough.go"), []byte(handler), 0o644))
	avatars := filepath.Join(w.dir, "server/internal/api/rest/avatars.go")
	code := harness.Try(os.ReadFile(avatars))(w)
	harness.Check(w, os.WriteFile(avatars, bytes.ReplaceAll(code, []byte("gen.NewAvatar(s.ID, "), []byte(`gen.NewAvatar(s.ID, "good", `)), 0o644))
	if output, err := w.run("go", "list", "-export", "./..."); err != nil {
		t.Error(output)
	}
}

// broken returns the files in which the compiler found errors.
func broken(output string) []string {
	var files []string
	for _, match := range regexp.MustCompile(`(?m)^(\S+\.go):\d+:\d+: `).FindAllStringSubmatch(output, -1) {
		files = append(files, match[1])
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// workspace is a copy of the module in a temporary directory.
type workspace struct {
	*testing.T
	dir string
}

func newWorkspace(t *testing.T) workspace {
	t.Helper()
	w := workspace{t, t.TempDir()}
	root := harness.Try(filepath.Abs(".."))(w)
	harness.Check(w, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := harness.Try(filepath.Rel(root, path))(w)
		target := filepath.Join(w.dir, name)
		switch {
		case entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules"):
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(target, 0o755)
		case !entry.Type().IsRegular():
			return nil
		}
		content := harness.Try(os.ReadFile(path))(w)
		return os.WriteFile(target, content, 0o644)
	}))
	return w
}

func (w workspace) run(name string, arguments ...string) (string, error) {
	w.Helper()
	command := exec.CommandContext(w.Context(), name, arguments...)
	command.Dir = w.dir
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly -buildvcs=false "+os.Getenv("GOFLAGS"))
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	err := command.Run()
	return output.String(), err
}
