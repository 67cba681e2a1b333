package api_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/clienttest"
	"github.com/avatarstudio/avatarstudio/gen"
)

// sampleService is a service with the records that the examples of the document refer to.
type sampleService struct {
	*clienttest.Service
	directory   string
	environment []string
	waiting     string // an avatar that waits for consent
	avatar      string // a published avatar
	video       string
	lipsync     string
	streamed    string // a lip-sync whose event is streamed
	endpoint    string
	refresh     string // refresh token
	leaving     string // refresh token of a session that ends
}

func newSampleService(t *testing.T) sampleService {
	t.Helper()
	check := func(err error) {
		t.Helper()
		harness.Check(t, err)
	}
	s := clienttest.New(t)
	studio, err := client.New(client.Config{BaseURL: s.URL, Email: s.Email, Password: client.Credential(s.Password)})
	check(err)
	tokens, err := studio.Login(t.Context(), gen.LoginRequest{Email: s.Email, Password: s.Password})
	check(err)
	leaving, err := studio.Login(t.Context(), gen.LoginRequest{Email: s.Email, Password: s.Password})
	check(err)
	waiting, err := studio.CreateAvatar(t.Context(), gen.CreateAvatarRequest{})
	check(err)
	avatar, err := studio.CreateAvatar(t.Context(), gen.CreateAvatarRequest{
		WebhookData: gen.Value(gen.WebhookData{WebhookURL: gen.Value("https://hooks.example.com/")}),
		Webhook:     gen.Value(gen.WebhookSwitch{Enabled: gen.Value(true)}),
	})
	check(err)
	endpoints, err := studio.ListEndpoints(t.Context())
	check(err)
	s.SetAvatar(avatar.AvatarID, gen.AvatarStatusPublished)
	video, err := studio.CreateVideo(t.Context(), gen.CreateVideoRequest{AvatarID: avatar.AvatarID})
	check(err)
	lipsync, err := studio.CreateLipsync(t.Context(), gen.CreateLipsyncRequest{})
	check(err)
	streamed, err := studio.CreateLipsync(t.Context(), gen.CreateLipsyncRequest{})
	check(err)
	directory := t.TempDir()
	check(os.WriteFile(filepath.Join(directory, "video.mp4"), []byte("\x00\x00\x00\x18ftypisom"), 0o600))
	environment := append(os.Environ(), "PYTHONUNBUFFERED=1", "STUDIO_BASE_URL="+s.URL, "STUDIO_TOKEN="+tokens.AccessToken,
		"STUDIO_WORKSPACE="+s.Workspace, "STUDIO_EMAIL=", "STUDIO_PASSWORD=")
	return sampleService{
		s, directory, environment, waiting.AvatarID, avatar.AvatarID, video.InferenceID, lipsync.InferenceID, streamed.InferenceID, endpoints.Data[0].EndpointID, tokens.RefreshToken, leaving.RefreshToken,
	}
}

// read returns a sample with the ids and tokens of the service instead of those of the document.
func (s sampleService) read(t *testing.T, operation, extension string) string {
	t.Helper()
	text, err := api.Samples.ReadFile("_samples/" + operation + extension)
	harness.Check(t, err)
	avatar, refresh := s.avatar, s.refresh
	switch operation {
	case "submitConsent":
		avatar = s.waiting
	case "logout":
		refresh = s.leaving
	}
	return strings.NewReplacer(
		"01936f3e-8a10-7d51-9a3e-0c5b7e1d2f30", avatar,
		"01936f3e-9b20-7e62-8b4f-1d6c8f2e3a41", s.video,
		"01936f3e-ac30-7f73-9c5a-2e7d9a3f4b52", s.lipsync,
		"ZW5kcG9pbnQtMg", s.endpoint,
		"c29tZS1vcGFxdWUtcmVmcmVzaC10b2tlbg", refresh,
	).Replace(string(text))
}

// write writes the samples of a language to files and returns their paths.
func (s sampleService) write(t *testing.T, extension string) (files []string) {
	t.Helper()
	for _, id := range sampleOperations(t) {
		file := filepath.Join(s.directory, id+extension)
		harness.Check(t, os.WriteFile(file, []byte(s.read(t, id, extension)), 0o600))
		files = append(files, file)
	}
	return files
}

// run runs a program with all samples of a language, and checks that the service processed each operation once. The
// last one shows the events of a stream until the program is killed.
func (s sampleService) run(t *testing.T, program string, arguments ...string) {
	t.Helper()
	before := len(s.Requests())
	command := exec.CommandContext(t.Context(), program, arguments...)
	command.Dir, command.Env = s.directory, s.environment
	var output harness.Buffer
	command.Stdout = &output
	process := harness.Run(t, command)
	harness.Eventually(t, "the last sample gets a stream", func() bool {
		streams := s.Requests(streamOperation)
		return !process.Running() || len(streams) == 1 && streams[0].Status == http.StatusOK
	})
	s.SetInference(s.streamed, gen.InferenceStatusSucceeded)
	harness.Eventually(t, "the last sample shows an event", func() bool {
		return !process.Running() || strings.Contains(output.String(), s.streamed)
	})
	harness.Check(t, process.Kill())
	var got []string
	for _, request := range s.Requests()[before:] {
		if request.Status < 200 || request.Status > 299 {
			t.Errorf("%s: status %d", request.Operation, request.Status)
		}
		got = append(got, request.Operation)
	}
	if diff := cmp.Diff(sampleOperations(t), got); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
}

// streamOperation is the operation with a stream.
const streamOperation = "streamEvents"

// sampleOperations returns the ids of all operations. Deletions are last, and the deletion of a video is before that of
// its avatar. After them is the stream, which does not end.
func sampleOperations(t *testing.T) []string {
	t.Helper()
	var ids, deletions []string
	loadObject(t).eachOperation(func(name string, operation object) {
		id, _ := operation["operationId"].(string)
		switch {
		case strings.HasPrefix(id, "notify"), id == streamOperation:
		case strings.HasPrefix(id, "delete"):
			deletions = append(deletions, id)
		default:
			ids = append(ids, id)
		}
	})
	slices.Sort(ids)
	slices.Sort(deletions)
	slices.Reverse(deletions)
	return append(append(ids, deletions...), streamOperation)
}

// Each operation has a sample in each language, and no other samples exist.
func TestSamples_coverTheDocument(t *testing.T) {
	t.Parallel()
	var got, want []string
	for _, id := range sampleOperations(t) {
		want = append(want, id+".go", id+".py", id+".sh", id+".ts")
	}
	slices.Sort(want)
	entries, err := api.Samples.ReadDir("_samples")
	harness.Check(t, err)
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

func TestSamples_runInCurl(t *testing.T) {
	t.Parallel()
	lookPath(t, "curl")
	s := newSampleService(t)
	const runAll = `for file; do case $file in *stream*) curl() { exec curl "$@"; };; esac; . "$file"; done` // exec, to be killed
	s.run(t, "sh", append([]string{"-ec", runAll, "sh"}, s.write(t, ".sh")...)...)
}

func TestSamples_runInPython(t *testing.T) {
	t.Parallel()
	lookPath(t, "python3")
	s := newSampleService(t)
	const runAll = "import runpy, sys\nfor file in sys.argv[1:]: runpy.run_path(file)"
	s.run(t, "python3", append([]string{"-c", runAll}, s.write(t, ".py")...)...)
}

// "make check-document" installs the TypeScript compiler. It also checks the types of the samples.
func TestSamples_runInTypeScript(t *testing.T) {
	harness.SkipShort(t, "it starts a compiler")
	t.Parallel()
	compiler, err := filepath.Abs("lint/node_modules/.bin/tsc")
	harness.Check(t, err)
	lookPath(t, compiler)
	s := newSampleService(t)
	files := s.write(t, ".ts")
	compile := exec.CommandContext(t.Context(), compiler, append([]string{"--noCheck", "--noResolve", "--lib", "es5", "--module", "es2022", "--target", "es2022"}, files...)...)
	if output, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for i, file := range files {
		files[i] = strings.TrimSuffix(file, ".ts") + ".mjs"
		harness.Check(t, os.Rename(strings.TrimSuffix(file, ".ts")+".js", files[i]))
	}
	const runAll = "for (const file of process.argv.slice(1)) await import(file)"
	s.run(t, "node", append([]string{"--input-type=module", "-e", runAll}, files...)...)
}

// The samples become functions of one program, because linking a program for each takes long.
func TestSamples_runInGo(t *testing.T) {
	harness.SkipShort(t, "it links a program")
	t.Parallel()
	s := newSampleService(t)
	root, err := filepath.Abs("..")
	harness.Check(t, err)
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(s.directory, name)
		harness.Check(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)))
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		harness.Check(t, err)
		write(name, strings.Replace(string(text), "module github.com/avatarstudio/avatarstudio\n", "module samples\n", 1))
	}
	var imports, calls strings.Builder
	for _, id := range sampleOperations(t) {
		code := strings.Replace(s.read(t, id, ".go"), "package main\n", "package "+id+"\n", 1)
		write(id+"/main.go", strings.Replace(code, "func main() {", "func Main() {", 1))
		fmt.Fprintf(&imports, "import %q\n", "samples/"+id)
		fmt.Fprintf(&calls, "%s.Main()\n", id)
	}
	write("main.go", "package main\n"+imports.String()+"func main() {\n"+calls.String()+"}\n")
	for _, command := range []string{
		"mod edit -require=github.com/avatarstudio/avatarstudio@v0.0.0 -replace=github.com/avatarstudio/avatarstudio=" + root,
		"vet -mod=mod ./...", "build -mod=mod -o samples .",
	} {
		built := exec.CommandContext(t.Context(), "go", strings.Fields(command)...)
		built.Dir, built.Env = s.directory, append(os.Environ(), "GOWORK=off")
		if output, err := built.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", command, err, output)
		}
	}
	s.run(t, filepath.Join(s.directory, "samples"))
}

// lookPath skips the test if a program is not installed, but fails it in CI.
func lookPath(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}
