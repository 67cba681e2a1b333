// Package foreign_test compares api/runtime/standardwebhooks with other implementations of Standard Webhooks. It is
// a separate module, so that they are not in the go.mod of the main module.
package foreign_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	reference "github.com/standard-webhooks/standard-webhooks/libraries/go"
	svix "github.com/svix/svix-webhooks/go"

	"github.com/avatarstudio/avatarstudio/api/runtime/standardwebhooks"
)

// vector is a notification with the signatures of each library.
type vector struct {
	Name       string            `json:"name"`
	Secrets    []string          `json:"secrets"`
	ID         string            `json:"id"`
	Timestamp  int64             `json:"timestamp"`
	Body       []byte            `json:"body"`
	Times      int               `json:"times"`      // number of repetitions of Body
	Signatures map[string]string `json:"signatures"` // by library
}

func (v vector) body() []byte { return bytes.Repeat(v.Body, v.Times) }

const published = `{"event_type":"avatar_event","data":{"avatar_id":"01936f3e-7c00-7a3b-8c44-2f6f1f0a9d10","status":"published"}}`

// sign returns the signatures of a library, with the first secret of each vector.
type sign func(*testing.T, []vector) []string

// goLibrary signs with a library that must also accept what package standardwebhooks signs, with each secret.
func goLibrary[W interface {
	Sign(id string, at time.Time, body []byte) (string, error)
	VerifyIgnoringTimestamp(body []byte, header http.Header) error
}](newWebhook func(secret string) (W, error)) sign {
	return func(t *testing.T, all []vector) (signatures []string) {
		for _, v := range all {
			library, err := newWebhook(v.Secrets[0])
			check(t, err)
			signature, err := library.Sign(v.ID, time.Unix(v.Timestamp, 0), v.body())
			check(t, err)
			signatures = append(signatures, signature)
			header := signed(t, v.ID, time.Unix(v.Timestamp, 0), v.body(), standardwebhooks.NewSecret().Reveal(), v.Secrets[0])
			check(t, library.VerifyIgnoringTimestamp(v.body(), header))
		}
		return signatures
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// nodeFolder returns a folder with the npm package, in which run runs programs. It skips the test if Node.js is not
// installed, and fails it in CI.
func nodeFolder(t *testing.T) (folder string, run func(t *testing.T, stdin []byte, program string, arguments ...string) []byte) {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	folder = t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json", "foreign.js"} {
		content, err := os.ReadFile(name)
		check(t, err)
		check(t, os.WriteFile(filepath.Join(folder, name), content, 0o600))
	}
	run = func(t *testing.T, stdin []byte, program string, arguments ...string) []byte {
		command := exec.CommandContext(t.Context(), program, arguments...)
		var stderr strings.Builder
		command.Dir, command.Stdin, command.Stderr = folder, bytes.NewReader(stdin), &stderr
		output, err := command.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", program, err, stderr.String())
		}
		return output
	}
	run(t, nil, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	return folder, run
}

// signInNode signs with the npm package. It signs strings, so it gives no signature of other bodies.
func signInNode(t *testing.T, all []vector) (signatures []string) {
	t.Helper()
	_, run := nodeFolder(t)
	stdin, err := json.Marshal(all)
	check(t, err)
	check(t, json.Unmarshal(run(t, stdin, "node", "foreign.js"), &signatures))
	return signatures
}

// The libraries sign as the vectors say. The tests of api/runtime/standardwebhooks use the same vectors.
func TestSign_equalsOtherLibraries(t *testing.T) {
	content, err := os.ReadFile("../vectors.json")
	check(t, err)
	var all, each []vector // of a notification, and of each of its secrets
	check(t, json.Unmarshal(content, &all))
	for _, v := range all {
		for _, secret := range v.Secrets {
			v.Secrets = []string{secret}
			each = append(each, v)
		}
	}
	for name, library := range map[string]sign{
		"Go standard-webhooks": goLibrary(reference.NewWebhook), "Go svix": goLibrary(svix.NewWebhook), "npm standardwebhooks": signInNode,
	} {
		t.Run(name, func(t *testing.T) {
			signatures := library(t, each)
			for _, v := range all {
				own := strings.Join(signatures[:len(v.Secrets)], " ")
				signatures = signatures[len(v.Secrets):]
				if comparable := utf8.Valid(v.Body) || !strings.HasPrefix(name, "npm"); comparable && own != v.Signatures[name] {
					t.Errorf("%s: signed as %s, want %s", v.Name, own, v.Signatures[name])
				}
			}
		})
	}
}

func signed(t *testing.T, id string, at time.Time, body []byte, secrets ...string) http.Header {
	t.Helper()
	parsed, err := standardwebhooks.ParseSecrets(secrets)
	check(t, err)
	header := http.Header{}
	check(t, standardwebhooks.Sign(header, id, at, body, parsed...))
	return header
}

// The programs for JavaScript and Python in the guide accept an event that the service signed, and no other. The one
// for Python needs its library, which Debian does not have.
func TestGuide_receiversVerify(t *testing.T) {
	page, err := os.ReadFile("../../../../../server/internal/web/guide/receivers.md")
	check(t, err)
	folder, _ := nodeFolder(t)
	for language, command := range map[string][]string{"js": {"node", "receiver.mjs"}, "python": {"python3", "receiver.py"}} {
		t.Run(language, func(t *testing.T) {
			if language == "python" && exec.CommandContext(t.Context(), "python3", "-c", "import standardwebhooks").Run() != nil {
				t.Skip("the Python package standardwebhooks is not installed")
			}
			program := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(page)
			check(t, os.WriteFile(filepath.Join(folder, command[1]), program[1], 0o600))
			free, err := net.Listen("tcp", "127.0.0.1:0")
			check(t, err)
			address := free.Addr().String()
			free.Close()
			_, port, _ := net.SplitHostPort(address)
			secrets := []string{standardwebhooks.NewSecret().Reveal(), standardwebhooks.NewSecret().Reveal()}
			receiver := exec.CommandContext(t.Context(), command[0], command[1:]...)
			receiver.Dir, receiver.Env = folder, append(os.Environ(), "PORT="+port, "WEBHOOK_SECRET="+secrets[1])
			check(t, receiver.Start())
			t.Cleanup(func() { _ = receiver.Process.Kill(); _ = receiver.Wait() })
			post := func(body string, header http.Header) int {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address, strings.NewReader(body))
				check(t, err)
				maps.Copy(request.Header, header)
				response, err := http.DefaultClient.Do(request)
				for deadline := time.Now().Add(time.Minute); err != nil && time.Now().Before(deadline); { // until it listens
					time.Sleep(50 * time.Millisecond)
					request.Body, _ = request.GetBody()
					response, err = http.DefaultClient.Do(request)
				}
				check(t, err)
				response.Body.Close()
				return response.StatusCode
			}
			recent := signed(t, "id", time.Now(), []byte(published), secrets...)
			old := signed(t, "id", time.Now().Add(-time.Hour), []byte(published), secrets...)
			if ok, changed, late, unsigned := post(published, recent), post(published+" ", recent), post(published, old), post(published, nil); ok != 204 || changed != 401 || late != 401 || unsigned != 401 {
				t.Errorf("statuses: signed %d, changed %d, old %d, unsigned %d", ok, changed, late, unsigned)
			}
		})
	}
}
