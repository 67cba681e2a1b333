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

// walkthrough contains edits for the recipe in the README. They have the indentation of the document.
var walkthrough = []edit{
	// Path parameters, one of them beside text, and responses without a body, with text, and with a stream.
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
  /v1/avatars/{avatar_id}/picture:
    parameters:
      - { name: avatar_id, in: path, required: true, x-interface: extension, description: An avatar., schema: { type: string } }
    get:
      operationId: readPicture
      x-interface: extension
      tags: [Avatars]
      summary: Read the picture of an avatar
      security: [ bearerAuth: [] ]
      responses:
        '200':
          description: The picture.
          content: { application/octet-stream: { schema: { type: string, format: binary } } }
        '401': { $ref: '#/components/responses/Unauthorized' }
  /v1/avatars/{avatar_id}:transcript:
    parameters:
      - { name: avatar_id, in: path, required: true, x-interface: extension, description: An avatar., schema: { type: string } }
    get:
      operationId: readTranscript
      x-interface: extension
      tags: [Avatars]
      summary: Read what an avatar says
      security: [ bearerAuth: [] ]
      responses:
        '200':
          description: The words.
          content: { text/plain: { schema: { type: string } } }
        '401': { $ref: '#/components/responses/Unauthorized' }
`},
	// An array in the query.
	{`operationId: getAvatar\n(?s:.*?)parameters:\n`, `        - { name: parts, in: query, x-interface: extension, description: What to answer., schema: { type: array, maxItems: 2, items: { type: string, enum: [face, voice] } } }
`},
	// A required member.
	{`(?m)^    Avatar:\n      type: object(?s:.*?)required: \[`, `quality, `},
	{`(?m)^    Avatar:\n      type: object(?s:.*?)properties:\n`, `        quality: { type: string, minLength: 1, x-interface: extension, description: How good it is. }
`},
	// An event.
	{`(?m)^webhooks:\n`, `  project_event:
    x-interface: extension
    post:
      operationId: notifyProjectEvent
      x-interface: extension
      tags: [Events]
      summary: A project changed
      security: []
      requestBody:
        required: true
        content:
          application/json:
            schema: { $ref: '#/components/schemas/ProjectEvent' }
      responses:
        2XX: { $ref: '#/components/responses/EventAccepted' }
`},
	{`(?m)^    EventType:\n(?s:.*?)enum: \[`, `project_event, `},
	{`(?m)^    Event:\n(?s:.*?)oneOf:\n`, `        - $ref: '#/components/schemas/ProjectEvent'
`},
	{`(?m)^    Event:\n(?s:.*?)mapping:\n`, `          project_event: '#/components/schemas/ProjectEvent'
`},
	{`(?m)^  schemas:\n`, `    ProjectEvent:
      type: object
      x-interface: extension
      description: A project changed.
      required: [event_type, data]
      properties:
        event_type: { type: string, const: project_event, x-interface: extension, description: Always project_event. }
        data: { $ref: '#/components/schemas/ProjectEventData' }
    ProjectEventData:
      type: object
      x-interface: extension
      description: Payload of a project_event.
      required: [project_id]
      properties:
        project_id: { type: string, x-interface: extension, description: Id of the project. }
`},
}

// byHand contains the minimal code that compiles after the edits.
var byHand = map[string]string{
	"server/internal/api/rest/walkthrough_streams.go": streamHandlers,
	"client/clienttest/walkthrough_streams_test.go":   streamTest,
	"server/internal/api/rest/walkthrough.go": `package rest

import (
	"context"
	"strings"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func (a *API) RemoveAvatar(ctx context.Context, r gen.RemoveAvatarRequestObject) (gen.RemoveAvatarResponseObject, error) {
	return gen.RemoveAvatar204Response{}, a.studio.Delete(ctx, caller(ctx), studio.Avatar, r.AvatarID)
}

func (*API) ReadPicture(_ context.Context, r gen.ReadPictureRequestObject) (gen.ReadPictureResponseObject, error) {
	return gen.ReadPicture200ApplicationOctetStreamResponse{Body: strings.NewReader("the picture of " + r.AvatarID)}, nil
}

func (*API) ReadTranscript(_ context.Context, r gen.ReadTranscriptRequestObject) (gen.ReadTranscriptResponseObject, error) {
	return gen.ReadTranscript200TextResponse("the words of " + r.AvatarID), nil
}
`,
	"client/clienttest/walkthrough_test.go": `package clienttest_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/clienttest"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
)

func TestWalkthrough_worksWithTheChangedContract(t *testing.T) {
	s := clienttest.New(t)
	s.AllowInvalid()
	c := newClient(t, s)
	avatar, err := c.CreateAvatar(t.Context(), gen.CreateAvatarRequest{})
	check(t, err)
	if avatar.Quality == "" {
		t.Error("the required member is empty")
	}

	parts := []gen.GetAvatarParamsParts{"face", "voice"}
	_, err = c.GetAvatar(t.Context(), avatar.AvatarID, client.GetAvatarParams{Parts: &parts})
	check(t, err)
	request := s.Requests("getAvatar")[0]
	if got := request.URL.Query()["parts"]; !slices.Equal(got, []string{"face", "voice"}) {
		t.Errorf("sent %q", got)
	}
	parts[0] = "hands"
	if _, err = c.GetAvatar(t.Context(), avatar.AvatarID, client.GetAvatarParams{Parts: &parts}); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("invalid item: %v", err)
	}
	if _, err = c.GetAvatar(t.Context(), avatar.AvatarID, client.ListVideosParams{}); err == nil {
		t.Error("parameters of another operation are accepted")
	}

	text, err := c.ReadTranscript(t.Context(), "a/b c")
	if text != "the words of a/b c" || err != nil {
		t.Errorf("text %q, error %v", text, err)
	}

	picture, err := c.ReadPicture(t.Context(), "a")
	check(t, err)
	content, err := io.ReadAll(picture)
	if string(content) != "the picture of a" || err != nil || picture.Close() != nil {
		t.Errorf("picture %q, error %v", content, err)
	}

	var response client.Response
	check(t, c.RemoveAvatar(t.Context(), avatar.AvatarID, client.WithResponse(&response)))
	if response.StatusCode != 204 {
		t.Errorf("status %d", response.StatusCode)
	}
	if err := c.RemoveAvatar(t.Context(), "no such avatar"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("unknown id: %v", err)
	}
	if err := c.RemoveAvatar(t.Context(), "short"); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("invalid id: %v", err)
	}

	var project string
	receiver, err := webhook.NewReceiver(webhook.Handlers{
		Project: func(_ context.Context, e gen.ProjectEvent, _ webhook.Delivery) error {
			project = e.Data.ProjectID
			return nil
		},
		Unhandled: func(context.Context, gen.Event, webhook.Delivery) error { return errors.New("unhandled") },
	}, webhook.Unverified())
	check(t, err)
	check(t, receiver.Handle(t.Context(), nil, clienttest.Sample(gen.EventTypeProject).Body))
	if project == "" {
		t.Error("the event did not arrive")
	}
}
`,
}

// After an edit of the document and make generate, the compiler reports all code that must change by hand.
func TestWalkthrough_compilerReportsRequiredChanges(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it compiles the packages five times")
	w := newWorkspace(t)
	document := filepath.Join(w.dir, "api", "openapi.yaml")
	text, err := os.ReadFile(document)
	w.check(err)
	text = regexp.MustCompile(`(?m)^openapi: 3\.\d\.\d`).ReplaceAll(text, []byte("openapi: 3.2.0"))
	for _, e := range slices.Concat(walkthrough, streams) {
		at := regexp.MustCompile(e.after).FindIndex(text)
		if at == nil {
			t.Fatalf("the document does not match %s", e.after)
		}
		text = slices.Concat(text[:at[1]], []byte(e.text), text[at[1]:])
	}
	w.check(os.WriteFile(document, text, 0o644))
	if output, err := w.run("make", "generate"); err != nil {
		t.Fatal(output)
	}

	output, _ := w.run("go", "list", "-export", "./...") // compiles as "go build" does, without linking
	want := []string{"server/internal/api/rest/avatars.go", "server/internal/api/rest/rest.go"}
	if diff := cmp.Diff(want, broken(output)); diff != "" {
		t.Errorf("files that do not compile (-want +got):\n%s\n%s", diff, output)
	}

	for path, code := range byHand {
		w.check(os.WriteFile(filepath.Join(w.dir, path), []byte(code), 0o644))
	}
	avatars := filepath.Join(w.dir, "server/internal/api/rest/avatars.go")
	code, err := os.ReadFile(avatars)
	w.check(err)
	w.check(os.WriteFile(avatars, bytes.ReplaceAll(code, []byte("gen.NewAvatar(s.ID, "), []byte(`gen.NewAvatar(s.ID, "good", `)), 0o644))
	if output, err := w.run("go", "list", "-export", "./..."); err != nil {
		t.Error(output)
	}
	for _, id := range []string{"removeAvatar", "readPicture", "readTranscript", "listTicks", "watchTicks"} {
		if output, err := w.run("go", "vet", "api/_samples/"+id+".go"); err != nil {
			t.Error(output)
		}
	}
	if output, err := w.run("go", "test", "-run", "^TestWalkthrough_", "./client/clienttest"); err != nil {
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
	root, err := filepath.Abs("..")
	w.check(err)
	w.check(filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		w.check(err)
		target := filepath.Join(w.dir, name)
		switch {
		case entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules"):
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(target, 0o755)
		case !entry.Type().IsRegular():
			return nil
		}
		content, err := os.ReadFile(path)
		w.check(err)
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

func (w workspace) check(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}
