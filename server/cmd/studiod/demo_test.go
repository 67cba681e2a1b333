package main

import (
	"bytes"
	"encoding/json"
	"errors"
	_ "image/jpeg" // registers the format
	"net/netip"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// The commands that a demo prints work in a shell, and webhooks reach this machine.
func TestDemo_printsCommandsThatWork(t *testing.T) {
	t.Parallel()
	harness.Need(t, "curl")
	p, text := runPrinting(t, serveBy(thisProgram(t), demoDatabaseOf(t), "--demo", "--renderer=simulate:0s"))
	_, script, found := strings.Cut(text, "# log in\n")
	key := regexp.MustCompile(`webhook secret +(\S+)`).FindStringSubmatch(text)
	if !found || key == nil || !strings.Contains(text, "studio listen --addr 127.0.0.1:9000\n") {
		t.Fatalf("the demo prints %s", text)
	}
	secret := try(webhook.ParseSecret(key[1]))(t)
	in := startInbox(t, secret)
	script = strings.ReplaceAll(regexp.MustCompile(`(?m)^curl `).ReplaceAllString(script, "echo; curl -sS "), "http://127.0.0.1:9000/", in.url)
	answered, err := exec.CommandContext(t.Context(), "sh", "-ec", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, answered)
	}
	answers := lines(string(answered))
	if len(answers) != 3 {
		t.Fatalf("%d answers: %s", len(answers), answered)
	}
	var list gen.ProjectList
	var avatar gen.Avatar
	var lipsync gen.Lipsync
	check(t, json.Unmarshal([]byte(answers[0]), &list))
	check(t, json.Unmarshal([]byte(answers[1]), &avatar))
	check(t, json.Unmarshal([]byte(answers[2]), &lipsync))
	if len(list.Data) != 12 || list.Size != 9 {
		t.Errorf("%s", answered)
	}
	in.want(t, avatar.AvatarID, avatarEvents(avatar.AvatarID, "processing", "consent_pending", "published"))
	in.want(t, lipsync.InferenceID, inferenceEvent("lipsync_inference_event", lipsync.InferenceID, "succeeded"))
	wantFile(t, new(p.URL+facePath), "image/jpeg", "\xff\xd8") // for which the README has a command
	check(t, p.Stop())
}

// Each start of a demo shows the same password, and its sessions go on. If the user has chosen another one, it is
// reset.
func TestDemo_keepsItsPassword(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, func(cfg *daemonConfig) { cfg.Database = demoDatabaseOf(t) })
	shown := func() string {
		var out bytes.Buffer
		check(t, showDemo(t.Context(), &out, d.daemon))
		return regexp.MustCompile(`password +(\S+)`).FindStringSubmatch(out.String())[1]
	}
	first := shown()
	session := try(d.studio.Login(t.Context(), netip.Addr{}, demoEmail, first))(t)
	if again := shown(); again != first {
		t.Error("the password changes at the next start")
	}
	_, _, err := d.studio.Session(t.Context(), session.Refresh)
	check(t, err)
	check(t, d.studio.SetPassword(t.Context(), demoEmail, "another password"))
	if again := shown(); again != first {
		t.Error("the password changes after another one was chosen")
	}
	try(d.studio.Login(t.Context(), netip.Addr{}, demoEmail, first))(t)
}

// A demo may send webhooks to this machine, so it must not run on a database with other users.
func TestDemo_rejectsDatabaseOfOthers(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	var out bytes.Buffer
	if err := showDemo(t.Context(), &out, d.daemon); !errors.As(err, new(commandline.UsageError)) || out.Len() != 0 {
		t.Errorf("error is %v after %s", err, out.String())
	}
	try(d.studio.AddUser(t.Context(), "", demoEmail, testPassword))(t) // without the demo's workspace
	if err := showDemo(t.Context(), &out, d.daemon); !errors.As(err, new(commandline.UsageError)) {
		t.Errorf("error is %v", err)
	}
	if _, err := d.studio.Login(t.Context(), netip.Addr{}, demoEmail, testPassword); err != nil {
		t.Errorf("the demo took an account over: %v", err)
	}
}

// demoDatabaseOf creates a database whose demo was interrupted after it had added the user.
func demoDatabaseOf(t *testing.T) string {
	t.Helper()
	dsn := studiotest.NewSQLite(t)
	db := try(store.Open(t.Context(), dsn, store.Config{}))(t)
	try(studioOf(db).AddWorkspace(t.Context(), demoWorkspace, "Demo"))(t)
	try(studioOf(db).AddUser(t.Context(), "", demoEmail, "to be replaced"))(t)
	check(t, db.Close())
	return dsn
}
