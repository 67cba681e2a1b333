package api_test

import (
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

// sampleService is a service for the samples.
type sampleService struct {
	*clienttest.Service
	studio      *client.Client
	directory   string
	environment []string
	streamed    string // a lip-sync whose event is streamed
}

func newSampleService(t *testing.T) sampleService {
	t.Helper()
	s := clienttest.New(t)
	studio, err := client.New(client.Config{BaseURL: s.URL, Email: s.Email, Password: client.Credential(s.Password)})
	harness.Check(t, err)
	tokens := harness.Try(studio.Login(t.Context(), gen.LoginRequest{Email: s.Email, Password: s.Password}))(t)
	streamed := harness.Try(studio.CreateLipsync(t.Context(), gen.CreateLipsyncRequest{}))(t)
	directory := t.TempDir()
	harness.Check(t, os.WriteFile(filepath.Join(directory, "video.mp4"), []byte("\x00\x00\x00\x18ftypisom"), 0o600))
	environment := append(os.Environ(), "PYTHONUNBUFFERED=1", "STUDIO_BASE_URL="+s.URL, "STUDIO_TOKEN="+tokens.AccessToken,
		"STUDIO_WORKSPACE="+s.Workspace, "STUDIO_EMAIL=", "STUDIO_PASSWORD=")
	return sampleService{s, studio, directory, environment, streamed.InferenceID}
}

// read returns a sample with records and a session of its own instead of those of the document, so that the samples can
// run in any order.
func (s sampleService) read(t *testing.T, operation, extension string) string {
	t.Helper()
	content := harness.Try(api.Samples.ReadFile("_samples/" + operation + extension))(t)
	text := string(content)
	avatar := func() string {
		made, err := s.studio.CreateAvatar(t.Context(), gen.CreateAvatarRequest{
			WebhookData: gen.Value(gen.WebhookData{WebhookURL: gen.Value("https://hooks.example.com/" + operation)}),
			Webhook:     gen.Value(gen.WebhookSwitch{Enabled: gen.Value(true)}),
		})
		harness.Check(t, err)
		if operation != "submitConsent" { // which is for an avatar that waits for it
			s.SetAvatar(made.AvatarID, gen.AvatarStatusPublished)
		}
		return made.AvatarID
	}
	for documented, replace := range map[string]func() string{
		"01936f3e-8a10-7d51-9a3e-0c5b7e1d2f30": avatar,
		"01936f3e-9b20-7e62-8b4f-1d6c8f2e3a41": func() string {
			video := harness.Try(s.studio.CreateVideo(t.Context(), gen.CreateVideoRequest{AvatarID: avatar()}))(t)
			return video.InferenceID
		},
		"01936f3e-ac30-7f73-9c5a-2e7d9a3f4b52": func() string {
			lipsync := harness.Try(s.studio.CreateLipsync(t.Context(), gen.CreateLipsyncRequest{}))(t)
			return lipsync.InferenceID
		},
		"ZW5kcG9pbnQtMg": func() string {
			avatar()
			endpoints := harness.Try(s.studio.ListEndpoints(t.Context()))(t)
			return endpoints.Data[0].EndpointID
		},
		"c29tZS1vcGFxdWUtcmVmcmVzaC10b2tlbg": func() string {
			tokens, err := s.studio.Login(t.Context(), gen.LoginRequest{Email: s.Email, Password: s.Password})
			harness.Check(t, err)
			return tokens.RefreshToken
		},
	} {
		if strings.Contains(text, documented) {
			text = strings.ReplaceAll(text, documented, replace())
		}
	}
	return text
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

// run runs a program with all samples of a language, after write, and checks that the service processed each operation
// once. The last one shows the events of a stream until the program is killed.
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
	var got []string
	for _, request := range s.Requests()[before:] {
		if request.Status < 200 || request.Status > 299 {
			t.Errorf("the sample of %s gets the status %d; what its example refers to is made in api/samples_test.go", request.Operation, request.Status)
		}
		got = append(got, request.Operation)
	}
	if diff := cmp.Diff(sampleOperations(t), got); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
	harness.Check(t, process.Kill())
}

// streamOperation is the operation with a stream.
const streamOperation = "streamEvents"

// sampleOperations returns the ids of all operations. The last one is the stream, which does not end.
func sampleOperations(t *testing.T) []string {
	t.Helper()
	var ids []string
	loadObject(t).eachOperation(func(name string, operation object) {
		if id, _ := operation["operationId"].(string); id != streamOperation && !strings.HasPrefix(name, "webhook ") {
			ids = append(ids, id)
		}
	})
	slices.Sort(ids)
	return append(ids, streamOperation)
}

func TestSamples_runInCurl(t *testing.T) {
	t.Parallel()
	harness.Need(t, "curl")
	s := newSampleService(t)
	const runAll = `for file; do case $file in *stream*) as=exec;; *) as=command;; esac; curl() { $as curl -sS "$@"; }; . "$file"; done` // exec, to be killed
	s.run(t, "sh", append([]string{"-ec", runAll, "sh"}, s.write(t, ".sh")...)...)
}

func TestSamples_runInPython(t *testing.T) {
	t.Parallel()
	harness.Need(t, "python3")
	s := newSampleService(t)
	const runAll = "import runpy, sys\nfor file in sys.argv[1:]: runpy.run_path(file)"
	s.run(t, "python3", append([]string{"-c", runAll}, s.write(t, ".py")...)...)
}

// "make check-document" installs the TypeScript compiler. It also checks the types of the samples.
func TestSamples_runInTypeScript(t *testing.T) {
	harness.SkipShort(t, "it starts a compiler")
	t.Parallel()
	compiler := harness.Try(filepath.Abs("tools/lint/node_modules/.bin/tsc"))(t)
	harness.Need(t, compiler)
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
	root := harness.Try(filepath.Abs(".."))(t)
	write := func(name, text string) {
		t.Helper()
		harness.Check(t, os.WriteFile(filepath.Join(s.directory, name), []byte(text), 0o600))
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text := harness.Try(os.ReadFile(filepath.Join(root, name)))(t)
		write(name, strings.Replace(string(text), "module github.com/avatarstudio/avatarstudio\n", "module samples\n", 1))
	}
	calls := ""
	for _, id := range sampleOperations(t) {
		write(id+".go", strings.Replace(s.read(t, id, ".go"), "func main() {", "func "+id+"() {", 1))
		calls += id + "()\n"
	}
	write("main.go", "package main\nfunc main() {\n"+calls+"}\n")
	for _, command := range []string{
		"mod edit -require=github.com/avatarstudio/avatarstudio@v0.0.0 -replace=github.com/avatarstudio/avatarstudio=" + root,
		"build -mod=mod -o samples .",
	} {
		built := exec.CommandContext(t.Context(), "go", strings.Fields(command)...)
		built.Dir, built.Env = s.directory, append(os.Environ(), "GOWORK=off")
		if output, err := built.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", command, err, output)
		}
	}
	s.run(t, filepath.Join(s.directory, "samples"))
}
