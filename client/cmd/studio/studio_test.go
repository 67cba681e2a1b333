package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/gobuild"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client/clienttest"
	"github.com/avatarstudio/avatarstudio/gen"
)

// states returns the id and the statuses in lines of JSON.
func states(t *testing.T, lines string) (id string, statuses []string) {
	t.Helper()
	for line := range strings.Lines(lines) {
		var s subject
		check(t, json.Unmarshal([]byte(line), &s))
		id = s.id()
		statuses = append(statuses, s.Status)
	}
	return id, statuses
}

// startDaemon starts the real service with a user, and returns a program with a stored login.
func startDaemon(t *testing.T) *program {
	t.Helper()
	program := try(gobuild.Program(t.Context(), "github.com/avatarstudio/avatarstudio/server/cmd/studiod"))(t)
	database := "sqlite:" + filepath.Join(t.TempDir(), "studio.db")
	manage := func(stdin string, args ...string) string {
		command := exec.CommandContext(t.Context(), program, append(args, "--db="+database)...)
		command.Stdin = strings.NewReader(stdin)
		output := try(command.Output())(t)
		return strings.TrimSpace(string(output))
	}
	manage("correct horse battery staple", "user", "add", "ada@example.com")
	workspace := manage("", "workspace", "add", "Team")
	manage("", "workspace", "member", workspace, "ada@example.com")
	daemon := harness.RunDaemon(t, harness.Serve(context.Background(), []string{program}, database, "--renderer=simulate:10ms"))
	t.Cleanup(func() { check(t, daemon.End(os.Interrupt)) })
	return loggedIn(t, daemon.URL, workspace, "correct horse battery staple")
}

// A user logs in, creates and watches an avatar, a video and a lip-sync, sees the signed notifications, and lists the
// projects.
func TestStudio_createsWatchesAndListens(t *testing.T) {
	t.Parallel()
	p := startDaemon(t)
	in := p.startListening(t)
	unsigned, err := http.Post(in.url, "application/json", strings.NewReader(`{"event_type":"avatar_event","data":{}}`))
	check(t, err)
	check(t, unsigned.Body.Close())
	if unsigned.StatusCode != http.StatusUnauthorized || !strings.Contains(in.errs.String(), "rejected with 401: standardwebhooks: a signature header is missing") {
		t.Errorf("an unsigned notification: %d, %s", unsigned.StatusCode, in.errs)
	}
	id, seen := states(t, p.must(t, "", "avatar", "create", "--title", "Ada\x1b[2J", "--webhook-url", in.url, "--watch", "--json"))
	if seen[0] != "processing" || seen[len(seen)-1] != "published" || len(seen) > 3 {
		t.Errorf("the states of an avatar are %v", seen)
	}
	wantParts(t, p.must(t, "", "avatar", "show", id), "title    Ada\\x1b[2J\nstatus   published")
	video := p.must(t, "", "video", "create", "--avatar", id, "--text", "Hello.")
	if watched := p.must(t, "", "video", "watch", video); !strings.HasSuffix(watched, video+" succeeded") {
		t.Errorf("the video is %q", watched)
	}
	code, lines, stderr := p.run(t, "", "lipsync", "create", "--title", "[fail]", "--webhook-url", in.url, "--watch", "--json")
	if _, seen := states(t, lines); code != exitRecordFailed || seen[len(seen)-1] != "failed" || !strings.HasPrefix(stderr, "studio: lip-sync creation failed: The simulated renderer") {
		t.Errorf("a lip-sync that fails: exit code %d, %v, %s", code, seen, stderr)
	}
	harness.Eventually(t, "that the notifications are printed", func() bool { return strings.Count(in.out.String(), "\n") == 5 })
	wantParts(t, in.out.String(),
		"avatar_event "+id+" processing #1 -> 204\n", "avatar_event "+id+" consent_pending #2 -> 204\n",
		"avatar_event "+id+" published #3 -> 204\n", "avatar_inference_event "+video+" succeeded #1 -> 204\n",
	)
	if table := p.must(t, "", "project", "list"); strings.Count(table, "\n") != 3 || !strings.Contains(table, id) {
		t.Errorf("the projects are %q", table)
	}
}

func TestConsent_isGrantedOrRefused(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	p := loggedIn(t, s.URL, s.Workspace, s.Password)
	for decision, code := range map[string]int{"--granted": exitOK, "--refused": exitRecordFailed} {
		id := p.must(t, "", "avatar", "create", "--title", "Ada")
		s.SetAvatar(id, gen.AvatarStatusConsentPending)
		p.must(t, "", "avatar", "consent", decision, id)
		if got, _, stderr := p.run(t, "", "avatar", "watch", id); got != code {
			t.Errorf("%s: watching ends with %d: %s", decision, got, stderr)
		}
	}
}

// Every member of a lip-sync request has a flag, and a creation has a key.
func TestCreate_sendsEachMember(t *testing.T) {
	t.Parallel()
	_, p := startService(t)
	create := []string{
		"lipsync", "create", "--json", "--idempotency-key", "a", "--title", "Greeting", "--description", "Once",
		"--video-url", "https://media.example.com/a.mp4", "--use-audio-from-video", "--sync-mode", "loop",
	}
	created := p.must(t, "", create...)
	wantParts(t, created,
		`"title":"Greeting"`, `"description":"Once"`, `"input_video":"https://media.example.com/a.mp4"`, `"use_audio_from_video":true`, `"sync_mode":"loop"`,
	)
	if p.must(t, "", create...) != created || p.must(t, "", "lipsync", "create", "--json") == created {
		t.Error("the same key creates a duplicate, or a creation without a key is not new")
	}
}

// With --json, each line has all members of a document of the service, or what cannot be read as it is.
func TestJSON_printsAllMembers(t *testing.T) {
	t.Parallel()
	const document = `{"inference_id":"one","later":[1],"status":"succeeded","title":"One\u001b[2J"}`
	p := answering(t, func(r *http.Request) string {
		if r.URL.Path == "/projects/v2" {
			return `{"data":[7,` + document + `],"size":1,"unpublished_projects":0}`
		}
		return document
	})
	for command, before := range map[string]string{"project list": "7\n", "lipsync show one": "", "lipsync watch one": "", "video create --avatar one": ""} {
		if got := p.must(t, "", append(strings.Fields(command), "--json")...); got != before+document {
			t.Errorf("%s prints %s", command, got)
		}
	}
}

func TestCommands_returnDocumentedExitCodes(t *testing.T) {
	t.Parallel()
	s, p := startService(t)
	s.AllowInvalid()
	const nothing = "01936f3e-7c00-7a3b-8c44-2f6f1f0a9d10"
	broken := startFake(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotImplemented) })
	for _, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"an unknown avatar":         {[]string{"avatar", "show", nothing}, exitNotFound, "404"},
		"an unknown video":          {[]string{"video", "watch", nothing}, exitNotFound, "404"},
		"another's workspace":       {[]string{"project", "list", "--workspace", nothing}, exitUnauthorized, "403"},
		"an invalid sync mode":      {[]string{"lipsync", "create", "--sync-mode", "stretch"}, exitUsage, "/sync_mode"},
		"an invalid webhook URL":    {[]string{"lipsync", "create", "--webhook-url", "ftp://x"}, exitUsage, "/webhook_data/webhook_url"},
		"another service":           {[]string{"avatar", "show", "--base-url", broken, nothing}, exitUnauthorized, "not logged in"},
		"a wrong password":          {[]string{"login", "--email", s.Email, "--password-stdin"}, exitUnauthorized, "401"},
		"an invalid service URL":    {[]string{"login", "--base-url", broken, "--email", s.Email, "--password-stdin"}, exitFailure, "501"},
		"no service at the address": {[]string{"login", "--base-url", "http://127.0.0.1:1", "--email", s.Email, "--password-stdin"}, exitFailure, "connection refused; --base-url or STUDIO_BASE_URL"},
	} {
		p.mustFailWith(t, "hunter2hunter2", test.code, test.want, test.args...)
	}
}

// After a creation with an unknown outcome, and one whose id cannot be written, the command prints the key for a retry,
// even if it is interrupted.
func TestCreate_namesTheKeyWhenTheOutcomeIsUnknown(t *testing.T) {
	t.Parallel()
	face := filepath.Join(t.TempDir(), "face.jpg")
	check(t, os.WriteFile(face, []byte("a face"), 0o600))
	unwritable := try(os.Open(face))(t)
	defer func() { _ = unwritable.Close() }()
	for status, code := range map[int]int{http.StatusServiceUnavailable: exitFailure, http.StatusOK: exitFailure, 0: exitInterrupted} {
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		keys := make(chan string, 1)
		p := newTest(t)
		p.Env.Token = "token"
		p.Env.BaseURL = startFake(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Retry-After", "3600")
			if r.URL.Path == "/v1/media" {
				w.WriteHeader(http.StatusCreated)
				_, _ = io.WriteString(w, `{"media_id":"a","url":"https://a.example/?a&'b","content_type":"image/jpeg","size":6,"expires_at":"2026-01-02T03:04:05Z"}`)
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			if keys <- r.Header.Get("Idempotency-Key"); status == 0 {
				interrupt()
				<-r.Context().Done()
				return
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"avatar_id":"one","status":"processing"}`)
		})
		var errs bytes.Buffer
		p.Stdout, p.Stderr = unwritable, &errs
		got := p.Run(ctx, []string{"studio", "avatar", "create", "--video", face})
		if want := "--idempotency-key " + <-keys + " --base-video-url 'https://a.example/?a&'\\''b')"; got != code || !strings.Contains(errs.String(), want) {
			t.Errorf("after the status %d, the exit code is %d: %s", status, got, &errs)
		}
	}
}
