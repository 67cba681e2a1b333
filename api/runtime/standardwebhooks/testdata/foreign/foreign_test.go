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
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	reference "github.com/standard-webhooks/standard-webhooks/libraries/go"
	svix "github.com/svix/svix-webhooks/go"

	"github.com/avatarstudio/avatarstudio/api/runtime/standardwebhooks"
)

const npm = "npm standardwebhooks"

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

// verification is a notification for a library to verify.
type verification struct {
	Secret string            `json:"secret"`
	Header map[string]string `json:"header"`
	Body   []byte            `json:"body"`
	Now    int64             `json:"now"` // milliseconds
}

type library struct {
	name     string
	supports func(body []byte) bool              // whether the library can sign a body
	sign     func(*testing.T, []vector) []string // with the first secret of each

	// verify returns the error of each verification, or "".
	verify func(*testing.T, []verification) []string
}

func eachLibrary(t *testing.T, f func(*testing.T, library)) {
	for name, open := range map[string]func(*testing.T, string) library{
		"Go standard-webhooks": goLibrary(reference.NewWebhook),
		"Go svix":              goLibrary(svix.NewWebhook),
		npm:                    nodeLibrary,
	} {
		t.Run(name, func(t *testing.T) { f(t, open(t, name)) })
	}
}

type goWebhook interface {
	Sign(id string, at time.Time, body []byte) (string, error)
	Verify(body []byte, header http.Header) error
}

func goLibrary[W goWebhook](newWebhook func(secret string) (W, error)) func(*testing.T, string) library {
	load := func(t *testing.T, secret string) W {
		loaded, err := newWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		return loaded
	}
	return func(_ *testing.T, name string) library {
		return library{
			name:     name,
			supports: func([]byte) bool { return true },
			sign: func(t *testing.T, all []vector) (signatures []string) {
				for _, v := range all {
					signature, err := load(t, v.Secrets[0]).Sign(v.ID, time.Unix(v.Timestamp, 0), v.body())
					if err != nil {
						t.Fatal(err)
					}
					signatures = append(signatures, signature)
				}
				return signatures
			},
			// These libraries call time.Now, which returns a time of 2000 at the start of a synctest bubble.
			verify: func(t *testing.T, all []verification) (failures []string) {
				for _, j := range all {
					synctest.Test(t, func(t *testing.T) {
						time.Sleep(time.Until(time.UnixMilli(j.Now)))
						failure := ""
						if err := load(t, j.Secret).Verify(j.Body, canonical(j.Header)); err != nil {
							failure = err.Error()
						}
						failures = append(failures, failure)
					})
				}
				return failures
			},
		}
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
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
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

// nodeLibrary returns the npm package.
func nodeLibrary(t *testing.T, name string) library {
	t.Helper()
	_, run := nodeFolder(t)
	type signature struct {
		Secret    string `json:"secret"`
		ID        string `json:"id"`
		Timestamp int64  `json:"timestamp"`
		Body      []byte `json:"body"`
	}
	type request struct {
		Sign   []signature    `json:"sign"`
		Verify []verification `json:"verify"`
	}
	type output struct {
		Signatures []string `json:"signatures"`
		Failures   []string `json:"failures"`
	}
	runNode := func(t *testing.T, q request) (result output) {
		stdin, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(run(t, stdin, "node", "foreign.js"), &result); err != nil {
			t.Fatal(err)
		}
		return result
	}
	return library{
		name:     name,
		supports: utf8.Valid, // it signs strings
		sign: func(t *testing.T, all []vector) []string {
			q := request{Sign: []signature{}, Verify: []verification{}}
			for _, v := range all {
				q.Sign = append(q.Sign, signature{v.Secrets[0], v.ID, v.Timestamp, v.body()})
			}
			return runNode(t, q).Signatures
		},
		verify: func(t *testing.T, all []verification) []string {
			return runNode(t, request{Sign: []signature{}, Verify: all}).Failures
		},
	}
}

// The libraries sign as the vectors say. The tests of api/runtime/standardwebhooks use the same vectors.
func TestSign_equalsOtherLibraries(t *testing.T) {
	const path = "../vectors.json"
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var committed []vector
	if err := json.Unmarshal(content, &committed); err != nil {
		t.Fatal(err)
	}
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
	eachLibrary(t, func(t *testing.T, l library) {
		for i, v := range all {
			if !l.supports(v.body()) {
				continue
			}
			var each []vector
			for _, secret := range v.Secrets {
				v.Secrets = []string{secret}
				each = append(each, v)
			}
			all[i].Signatures[l.name] = strings.Join(l.sign(t, each), " ")
		}
	})
	if *update {
		if content, err = json.MarshalIndent(all, "", "  "); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(content, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if !reflect.DeepEqual(all, committed) {
		t.Errorf("%s does not contain the signatures of the libraries: run go test -update", path)
	}
}

// Every library that knows one of the secrets accepts a signature of standardwebhooks.Sign, and refuses it
// for another body, id or secret.
func TestVerify_agreesWithOtherLibraries(t *testing.T) {
	eachLibrary(t, func(t *testing.T, l library) {
		var names []string
		var verifications []verification
		add := func(name string, j verification) {
			names, verifications = append(names, name), append(verifications, j)
		}
		for _, v := range vectors() {
			if !l.supports(v.body()) {
				continue
			}
			header := sign(t, v.ID, time.Unix(v.Timestamp, 0), v.body(), v.Secrets...)
			for _, secret := range v.Secrets {
				original := verification{secret, header, v.body(), v.Timestamp * 1000}
				add("", original)
				other := original
				other.Body = append(slices.Clone(other.Body), ' ')
				add("other body", other)
				other = original
				other.Header = maps.Clone(header)
				other.Header[standardwebhooks.HeaderID] += "x"
				add("other id", other)
				other = original
				other.Secret = standardwebhooks.NewSecret().Reveal()
				add("other secret", other)
			}
		}
		for i, failure := range l.verify(t, verifications) {
			if (failure == "") != (names[i] == "") {
				t.Errorf("%s of %q: the error is %q", names[i], verifications[i].Header[standardwebhooks.HeaderID], failure)
			}
		}
	})
}

// All libraries agree at whole seconds. Within a second they differ: the npm package compares whole seconds,
// so it accepts timestamps that are almost a second older.
func TestVerify_acceptsTimestampsWithinFiveMinutes(t *testing.T) {
	now := time.Unix(1765272000, 0)
	body, secret := []byte(published), parse(t, shortest)
	header := sign(t, "id", now, body, shortest)
	eachLibrary(t, func(t *testing.T, l library) {
		for ahead, accepted := range map[time.Duration]bool{
			-10 * 365 * 24 * time.Hour:            false,
			-301 * time.Second:                    false,
			-300*time.Second - 1*time.Millisecond: l.name == npm,
			-300 * time.Second:                    true,
			0:                                     true,
			300 * time.Second:                     true,
			300*time.Second + 1*time.Millisecond:  false,
			301 * time.Second:                     false,
			10 * 365 * 24 * time.Hour:             false,
		} {
			at := now.Add(-ahead)
			if failure := l.verify(t, []verification{{shortest, header, body, at.UnixMilli()}})[0]; (failure == "") != accepted {
				t.Errorf("%v ahead: the error is %q", ahead, failure)
			}
			ours := standardwebhooks.Verify(canonical(header), body, at, secret) == nil
			if ours != accepted && ahead%time.Second == 0 {
				t.Errorf("%v ahead: api/runtime/standardwebhooks accepts it: %v", ahead, ours)
			}
		}
	})
}

func sign(t *testing.T, id string, at time.Time, body []byte, secrets ...string) map[string]string {
	t.Helper()
	parsed := make([]standardwebhooks.Secret, len(secrets))
	for i, secret := range secrets {
		parsed[i] = parse(t, secret)
	}
	signed, header := http.Header{}, map[string]string{}
	if err := standardwebhooks.Sign(signed, id, at, body, parsed...); err != nil {
		t.Fatal(err)
	}
	for name := range signed {
		header[name] = signed.Get(name)
	}
	return header
}

func canonical(header map[string]string) http.Header {
	all := http.Header{}
	for name, value := range header {
		all.Set(name, value)
	}
	return all
}

func parse(t *testing.T, text string) standardwebhooks.Secret {
	t.Helper()
	secret, err := standardwebhooks.ParseSecret(text)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// The programs for JavaScript and Python in the guide accept an event that the service signed, and no other. The one
// for Python needs its library, which Debian does not have.
func TestGuide_receiversVerify(t *testing.T) {
	page, err := os.ReadFile("../../../../../server/internal/web/guide/receivers.md")
	if err != nil {
		t.Fatal(err)
	}
	folder, _ := nodeFolder(t)
	for language, command := range map[string][]string{"js": {"node", "receiver.mjs"}, "python": {"python3", "receiver.py"}} {
		t.Run(language, func(t *testing.T) {
			if language == "python" && exec.CommandContext(t.Context(), "python3", "-c", "import standardwebhooks").Run() != nil {
				t.Skip("the Python package standardwebhooks is not installed")
			}
			program := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(page)
			if err := os.WriteFile(filepath.Join(folder, command[1]), program[1], 0o600); err != nil {
				t.Fatal(err)
			}
			free, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			address := free.Addr().String()
			free.Close()
			_, port, _ := net.SplitHostPort(address)
			secrets := []string{standardwebhooks.NewSecret().Reveal(), standardwebhooks.NewSecret().Reveal()}
			receiver := exec.CommandContext(t.Context(), command[0], command[1:]...)
			receiver.Dir, receiver.Env = folder, append(os.Environ(), "PORT="+port, "WEBHOOK_SECRET="+secrets[1])
			if err := receiver.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = receiver.Process.Kill(); _ = receiver.Wait() })
			post := func(body string, header map[string]string) int {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				for name, value := range header {
					request.Header.Set(name, value)
				}
				response, err := http.DefaultClient.Do(request)
				for deadline := time.Now().Add(time.Minute); err != nil && time.Now().Before(deadline); { // until it listens
					time.Sleep(50 * time.Millisecond)
					request.Body, _ = request.GetBody()
					response, err = http.DefaultClient.Do(request)
				}
				if err != nil {
					t.Fatal(err)
				}
				response.Body.Close()
				return response.StatusCode
			}
			signed := sign(t, "id", time.Now(), []byte(published), secrets...)
			old := sign(t, "id", time.Now().Add(-time.Hour), []byte(published), secrets...)
			if ok, changed, late, unsigned := post(published, signed), post(published+" ", signed), post(published, old), post(published, nil); ok != 204 || changed != 401 || late != 401 || unsigned != 401 {
				t.Errorf("statuses: signed %d, changed %d, old %d, unsigned %d", ok, changed, late, unsigned)
			}
		})
	}
}
