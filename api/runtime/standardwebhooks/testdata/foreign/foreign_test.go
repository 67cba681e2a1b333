// Package foreign_test compares api/runtime/standardwebhooks with other implementations of Standard Webhooks. It is
// a separate module, so that they are not in the go.mod of the main module. "go test -update" writes their
// signatures to ../vectors.json.
package foreign_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	reference "github.com/standard-webhooks/standard-webhooks/libraries/go"
	svix "github.com/svix/svix-webhooks/go"

	"github.com/avatarstudio/avatarstudio/api/runtime/standardwebhooks"
)

var update = flag.Bool("update", false, "write ../vectors.json")

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

const (
	published = `{"event_type":"avatar_event","data":{"avatar_id":"01936f3e-7c00-7a3b-8c44-2f6f1f0a9d10","status":"published"}}`
	shortest  = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	longest   = "whsec_+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+w=="
	padded    = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGA=="
)

func vectors() []vector {
	everyByte := make([]byte, 256)
	for i := range everyByte {
		everyByte[i] = byte(i)
	}
	one := func(name, secret, id string, timestamp int64, body string) vector {
		return vector{name, []string{secret}, id, timestamp, []byte(body), 1, nil}
	}
	const id, at = "01936f3e-7c00-7a3b-8c44-2f6f1f0a9d11", 1765272000
	return []vector{
		one("ASCII", shortest, id, at, published),
		one("empty body", shortest, id, at, ""),
		one("UTF-8", shortest, id, at, `{"event_type":"avatar_event","data":{"avatar_id":"Ärger – 名前 – 😀 – e\u0301","status":"published"}}`),
		one("control characters", shortest, id, at, "\x00\x01\x1b\x7f\r\n\t\"\\\u2028\ufeff\ufffd."),
		one("every byte", shortest, id, at, string(everyByte)),
		{"64 KiB", []string{shortest}, id, at, []byte("0123456789abcdef"), 4096, nil},
		one("longest secret", longest, id, at, published),
		one("padded secret", padded, id, at, published),
		one("secret without prefix", strings.TrimPrefix(padded, "whsec_"), id, at, published),
		{"rotation", []string{shortest, longest}, id, at, []byte(published), 1, nil},
		{"two rotations", []string{padded, shortest, longest}, id, at, []byte(published), 1, nil},
		one("odd id", shortest, "!\"#$%&'()*+,-/:;<=>?@[\\]^_`{|}~0v1,", at, published),
		one("UTF-8 id", shortest, "Ärger-名前-😀", at, published),
		one("long id", shortest, strings.Repeat("0123456789abcdef", 64), at, published),
		one("year 2000", shortest, id, 946684800, published),
		one("timestamp beyond 32 bits", shortest, id, 1<<32, published),
	}
}

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
	const path = "../vectors.json"
	content, err := os.ReadFile(path)
	check(t, err)
	var committed []vector
	check(t, json.Unmarshal(content, &committed))
	all := vectors()
	if len(all) != len(committed) && !*update {
		t.Fatalf("%s has %d vectors, want %d: run go test -update", path, len(committed), len(all))
	}
	for i := range all {
		all[i].Signatures = map[string]string{}
		if !*update {
			all[i].Signatures = maps.Clone(committed[i].Signatures)
		}
	}
	var each []vector // by secret
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
			for i, v := range all {
				own := strings.Join(signatures[:len(v.Secrets)], " ")
				if signatures = signatures[len(v.Secrets):]; utf8.Valid(v.Body) || !strings.HasPrefix(name, "npm") {
					all[i].Signatures[name] = own
				}
			}
		})
	}
	if *update {
		if content, err = json.MarshalIndent(all, "", "  "); err != nil {
			t.Fatal(err)
		}
		check(t, os.WriteFile(path, append(content, '\n'), 0o600))
	} else if !reflect.DeepEqual(all, committed) {
		t.Errorf("%s does not contain the signatures of the libraries: run go test -update", path)
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
