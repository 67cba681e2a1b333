package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client/webhook"
)

// newSecretFile returns a secret and the path of a file that has it as its second secret.
func newSecretFile(t *testing.T) (webhook.Secret, string) {
	t.Helper()
	secret, path := webhook.NewSecret(), filepath.Join(t.TempDir(), "secret.txt")
	check(t, os.WriteFile(path, []byte(webhook.NewSecret().Reveal()+"\n"+secret.Reveal()+"\n"), 0o600))
	return secret, path
}

// post sends a request and returns the response.
func post(t *testing.T, method, url, body string, header http.Header) (status int, responseBody string, responseHeader http.Header) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	check(t, err)
	request.Header = header
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	response, err := transport.RoundTrip(request)
	check(t, err)
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	check(t, err)
	return response.StatusCode, string(content), response.Header
}

// The forwarder changes neither the request nor the response.
func TestListen_forwardsUnchanged(t *testing.T) {
	t.Parallel()
	const body = "{ \"event_type\" : \"avatar_event\",\n\"data\":{\"status\":\"published\",\"avatar_id\":\"a\u202e\"}, \"new\":1.0 }\r\n"
	type received struct {
		Body   string
		Header http.Header
	}
	arrived := make(chan received, 1)
	app := startFake(t, func(w http.ResponseWriter, r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		arrived <- received{string(content), r.Header}
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte("later"))
	})
	secret, file := newSecretFile(t)
	in := newTest(t).startListening(t, "--secret-file", file, "--forward", app, "--json")

	header := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"Sender/1"}, "X-More": {"a", "b"}, "X-Forwarded-For": {"192.0.2.1"}}
	check(t, webhook.Sign(header, "event-1", time.Now(), []byte(body), secret))
	header.Set(webhook.HeaderSequence, "3")
	status, responseBody, responseHeader := post(t, http.MethodPost, in.url, body, header)
	if status != http.StatusTooManyRequests || responseBody != "later" || responseHeader.Get("Retry-After") != "7" {
		t.Errorf("the response is %d %q %v", status, responseBody, responseHeader)
	}
	got := <-arrived
	got.Header.Del("Content-Length")
	want := header.Clone()
	want.Del("X-Forwarded-For") // names the client, which a forwarder must not trust
	if diff := cmp.Diff(received{body, want}, got); diff != "" {
		t.Errorf("the forwarded request (-want +got):\n%s", diff)
	}
	harness.Eventually(t, "that the event is printed", func() bool { return strings.HasSuffix(in.out.String(), "\n") })
	var line notification
	check(t, json.Unmarshal([]byte(in.out.String()), &line))
	if line.EventID != "event-1" || line.Sequence != "3" || line.Status != 429 || !strings.Contains(string(line.Event), `"a\u202e"`) {
		t.Errorf("%q is printed", in.out)
	}
}

func TestListen_refusesInvalidRequests(t *testing.T) {
	t.Parallel()
	secret, file := newSecretFile(t)
	const event = `{"event_type":"avatar_event","data":{}}`
	app := startFake(t, func(http.ResponseWriter, *http.Request) { t.Error("a rejected notification was forwarded") })
	in := newTest(t).startListening(t, "--secret-file", file, "--forward", app)
	for name, test := range map[string]struct {
		method, body string
		signed       bool
		status       int
	}{
		"no signature":   {http.MethodPost, event, false, http.StatusUnauthorized},
		"no event":       {http.MethodPost, `{}`, true, http.StatusBadRequest},
		"no JSON":        {http.MethodPost, "\x1b[2J", true, http.StatusBadRequest},
		"a long body":    {http.MethodPost, strings.Repeat(" ", maxNotification) + event, true, http.StatusRequestEntityTooLarge},
		"another method": {http.MethodGet, "", true, http.StatusMethodNotAllowed},
	} {
		header := http.Header{}
		if test.signed {
			check(t, webhook.Sign(header, "event-1", time.Now(), []byte(test.body), secret))
		}
		if status, _, _ := post(t, test.method, in.url, test.body, header); status != test.status {
			t.Errorf("%s: the status is %d", name, status)
		}
	}
	if in.out.String() != "" || !strings.Contains(in.errs.String(), "rejected with 401: standardwebhooks: a signature header is missing") {
		t.Errorf("%q and %q", in.out, in.errs)
	}
}

func TestListen_respondsWith502IfTheTargetIsDown(t *testing.T) {
	t.Parallel()
	in := newTest(t).startListening(t, "--unverified", "--forward", "http://127.0.0.1:1/")
	if status, _, _ := post(t, http.MethodPost, in.url, `{"event_type":"party\u001b"}`, http.Header{}); status != http.StatusBadGateway {
		t.Errorf("the status is %d", status)
	}
	harness.Eventually(t, "that the event is printed", func() bool { return in.out.String() == "party\\x1b - - #- -> 502\n" })
}

// listen accepts every event that trigger sends, signed with one of several secrets.
func TestTrigger_sendsWhatListenAccepts(t *testing.T) {
	t.Parallel()
	secret, file := newSecretFile(t)
	p := newTest(t)
	in := p.startListening(t, "--secret-file", file)
	p.WebhookSecret = secret.Reveal()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"avatar_event"}, "published"},
		{[]string{"--status=consent_pending", "avatar_event"}, "consent_pending"},
		{[]string{"avatar_inference_event"}, "succeeded"},
		{[]string{"--status=failed", "lipsync_inference_event"}, "failed"},
	} {
		event := test.args[len(test.args)-1]
		if out := p.must(t, "", append([]string{"trigger", "--to", in.url, "--id=7", "--sequence=4"}, test.args...)...); !strings.HasPrefix(out, `{"event_type":"`+event+`","data":{"`) || !strings.HasSuffix(out, `_id":"7","status":"`+test.want+`"}} -> 204`) {
			t.Errorf("%v prints %s", test.args, out)
		}
		want := event + " 7 " + test.want + " #4 -> 204\n"
		harness.Eventually(t, want, func() bool { return strings.Contains(in.out.String(), want) })
	}
	code, stdout, stderr := p.run(t, "", "trigger", "--unsigned", "--json", "--to", in.url, "avatar_event")
	var line notification
	if err := json.Unmarshal([]byte(stdout), &line); err != nil || code != exitFailure || line.Status != 401 || !strings.Contains(stderr, "401") {
		t.Errorf("unsigned: exit code %d, %q, %q", code, stdout, stderr)
	}
	if code, _, stderr := p.run(t, "", "trigger", "--to=http://127.0.0.1:1/?key=hunter2", "avatar_event"); code != exitFailure || strings.Contains(stderr, "hunter2") {
		t.Errorf("no receiver: exit code %d, %q", code, stderr)
	}
}

// Each command that takes the URL of a receiver sends it in the form of the WHATWG URL standard, itself or by the
// service.
func TestStudio_sendsURLsInTheFormOfTheStandard(t *testing.T) {
	t.Parallel()
	s := startService(t)
	p := s.loggedIn(t)
	targets := make(chan string, 8)
	app := startFake(t, func(_ http.ResponseWriter, r *http.Request) { targets <- r.RequestURI })
	for raw, want := range harness.URLs() {
		p.must(t, "", "trigger", "--unsigned", "--to", app+raw, "avatar_event")
		if got := <-targets; got != want {
			t.Errorf("trigger sends %q as %q, want %q", raw, got, want)
		}
	}
	for host, want := range harness.Hosts() {
		for _, flag := range []string{"--to", "--forward"} {
			target, err := receiverURL(flag, "http://"+host+":8106")
			if want == "" && (err == nil || strings.Contains(err.Error(), "canary")) || want != "" && (err != nil || target.Host != want+":8106") {
				t.Errorf("%s %q is %v, %v, want %q", flag, host, target, err, want)
			}
		}
	}
	const raw, want = `/é%2F|/x/..?name=é&x={"a":"b"}`, "/%C3%A9%2F%7C/?name=%C3%A9&x={%22a%22:%22b%22}"
	in := p.startListening(t, "--unverified", "--forward", app+raw)
	for name, send := range map[string]func(){
		"listen --forward": func() { p.must(t, "", "trigger", "--unsigned", "--to", in.url, "avatar_event") },
		"webhook test":     func() { p.must(t, "", "webhook", "test", app+raw) },
		"avatar create":    func() { p.must(t, "", "avatar", "create", "--webhook-url", app+raw) },
		"lipsync create":   func() { p.must(t, "", "lipsync", "create", "--webhook-url", app+raw) },
	} {
		send()
		if got := <-targets; got != want {
			t.Errorf("%s sends %q as %q, want %q", name, raw, got, want)
		}
		if name == "avatar create" { // its other two events
			<-targets
			<-targets
		}
	}
	created := p.must(t, "", "lipsync", "create", "--json", "--video-url", "https://a.example"+raw, "--audio-url", "https://b.example"+raw)
	created = strings.ReplaceAll(created, `\u0026`, "&")
	if !strings.Contains(created, `"https://a.example`+want) || !strings.Contains(created, `"https://b.example`+want) {
		t.Errorf("the service keeps %s", created)
	}
	if code, _, stderr := p.run(t, "", "trigger", "--to", "127.0.0.1:9000", "avatar_event"); code != exitUsage || !strings.Contains(stderr, "--to must be an absolute http or https URL") {
		t.Errorf("a receiver that is no URL: exit code %d, %s", code, stderr)
	}
}
