package main

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// studiod runs a command and returns its exit code and output.
func studiod(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), testPasswords, append([]string{"studiod"}, args...), strings.NewReader(stdin), &out, &errs)
	return code, strings.TrimSpace(out.String()), strings.TrimSpace(errs.String())
}

// fails runs a command and checks its exit code and its error, which is one line. It returns this line.
func fails(t *testing.T, code int, says string, args ...string) (stderr string) {
	t.Helper()
	got, stdout, stderr := studiod(t, testPassword+"\n", args...)
	if got != code || stdout != "" || !strings.HasPrefix(stderr, "studiod: ") || !strings.Contains(stderr, says) || strings.Contains(stderr, "\n") {
		t.Errorf("%v: exit code %d, %s%s, want %d and %q", args, got, stdout, stderr, code, says)
	}
	return stderr
}

// must runs a command and fails the test if the command fails.
func must(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	code, stdout, stderr := studiod(t, stdin, args...)
	if code != exitOK || stderr != "" {
		t.Fatalf("%v: exit code %d, %s", args, code, stderr)
	}
	return stdout
}

// Commands work on the database of a running daemon, and the daemon sees their changes at once.
func TestCommands_workWhileDaemonRuns(t *testing.T) {
	t.Parallel()
	const bob, films, songs = "01936f3e-6a00-7b2c-9d33-1e5e0e9f8c00", "01936f3e-7c00-7a3b-8c44-2f6f1f0a9d11", "01936f3e-7c00-7a3b-8c44-2f6f1f0a9d12"
	file := filepath.Join(t.TempDir(), "projects.json")
	check(t, os.WriteFile(file, []byte(`{"data":[
		{"project_id":"01936f3e-7d00-7c4d-8e55-3a7a2b1c0d20","user_id":"`+bob+`","status":"draft","title":"One"},
		{"project_id":"01936f3e-7d00-7c4d-8e55-3a7a2b1c0d21","user_id":null,"title":"Two"}
	],"size":1,"unpublished_projects":1}`), 0o600))
	names := strings.NewReplacer("BOB", bob, "FILMS", films, "SONGS", songs, "FILE", file)
	dsn := studiotest.NewSQLite(t)
	d := startDaemon(t, func(cfg *daemonConfig) { cfg.Database = dsn })
	for _, step := range []struct{ command, stdin, prints string }{
		{"user add --id BOB Bob@Example.com", "another password\n", "BOB"},
		{"user add --operator olga@example.com", testPassword, `[0-9a-f-]{36}`},
		{"audit --limit=1 --json", "", `(?s){"action":"user add".*"target":"olga@example.com --operator=true"}.*`},
		{"workspace add --id FILMS Films", "", "FILMS"},
		{"workspace add --id SONGS Songs", "", "SONGS"},
		{"workspace member FILMS bob@example.com", "", ""},
		{"workspace member SONGS bob@example.com", "", ""},
		{"workspace member --remove SONGS bob@example.com", "", ""},
		{"audit --limit=1 --json", "", `(?s){"action":"removed from workspace SONGS".*"target":"bob@example.com"}.*`},
		{"project import --workspace FILMS FILE", "", "imported projects: 2"},
		{"secret show bob@example.com", "", `whsec_\S+`},
		{"secret rotate bob@example.com", "", `whsec_\S+\nwhsec_\S+`},
		{"user role Bob@example.com operator", "", ""},
		{"user list --workspace FILMS --json", "", `{"created_at":"\S+","email":"bob@example.com","id":"BOB","in_progress":0,"role":"operator"}`},
		{"user role bob@example.com user", "", ""},
		{"user list --limit=1 --workspace FILMS", "", `ID .*EMAIL\nBOB .* user .* bob@example.com`},
		{"user list --workspace SONGS", "", "no users"},
		{"user list --limit=1", "", `(?s).*olga@example.com.*there are more: --after [0-9a-f-]{36}`},
		{"workspace list --limit=1 --json", "", `{"created_at":"\S+","id":"\S+","members":1,"name":"Team"}there are more: --after \S+`},
		{"delivery pause", "", `deliveries are paused since \S+`},
		{"delivery resume", "", "deliveries are resumed"},
		{"delivery resume", "", "deliveries were not paused"},
		{"user password bob@example.com", "a third password", ""},
		{"audit --limit=1 --json", "", `(?s){"action":"user password","at":"\S+","by":"command line","id":"\S+","target":"bob@example.com"}.*`},
	} {
		code, stdout, stderr := studiod(t, step.stdin, append(strings.Fields(names.Replace(step.command)), "--db="+dsn)...)
		if code != exitOK || !regexp.MustCompile("^"+names.Replace(step.prints)+"$").MatchString(stdout+stderr) {
			t.Errorf("%s: exit code %d, %s%s", step.command, code, stdout, stderr)
		}
	}
	lost, errs := try(os.Open(file))(t), &bytes.Buffer{} // it cannot be written
	code := run(t.Context(), testPasswords, []string{"studiod", "workspace", "add", "--db=" + dsn, "Lost"}, nil, lost, errs)
	check(t, lost.Close())
	if acts := must(t, "", "audit", "--db="+dsn); code != exitFailure || !strings.Contains(errs.String(), "stays") || !strings.Contains(acts, "Lost") {
		t.Errorf("a command whose output is lost: exit code %d, %s, and the acts are\n%s", code, errs, acts)
	}
	try(d.studio.Login(t.Context(), netip.Addr{}, "bob@example.com", "a third password"))(t)
	list := try(d.studio.ListProjects(t.Context(), bob, studio.ProjectFilter{WorkspaceID: films}))(t)
	for _, err := range list.Pages {
		check(t, err)
	}
	if counts := list.Counts; counts.Size != 1 || counts.Unpublished != 1 {
		t.Errorf("counts are %d and %d", counts.Size, counts.Unpublished)
	}
	try(studiotest.OpenSQL(t, dsn).ExecContext(t.Context(), `DROP TABLE acts`))(t)
	fails(t, exitFailure, "stays", "user", "password", "--db="+dsn, "bob@example.com")
}

func TestCommands_reportUsageErrorsInOneLine(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t, "one")
	certFile, keyFile := writeCertificate(t, cert, key)
	dsn := studiotest.NewSQLite(t)
	must(t, testPassword, "user", "add", "--db="+dsn, "--operator", testEmail)
	workspace := must(t, "", "workspace", "add", "--db="+dsn, "Team")
	pipe, unborn, foreign, free := filepath.Join(t.TempDir(), "pipe"), filepath.Join(t.TempDir(), "unborn"), t.TempDir(), t.TempDir()
	check(t, syscall.Mkfifo(pipe, 0o600))
	check(t, os.WriteFile(filepath.Join(foreign, "installation"), []byte("files of another"), 0o600))
	check(t, os.WriteFile(filepath.Join(free, "installation"), nil, 0o600))
	names := strings.NewReplacer("DB", "--db="+dsn, "WORKSPACE", workspace, "CERT", certFile, "FOREIGN", foreign, "FREE", free, "UNBORN", unborn,
		"SERVE", "serve --addr=127.0.0.1:0 --admin-addr=off --db=sqlite:"+unborn+"/studio.db", "KEY", keyFile, "PIPE", pipe, "PUBLIC", "--public-url=https://studio.example", "PG", "postgres://ada:hunter2@", "WORK", "work --db=postgres://localhost/studio")
	for _, test := range []struct {
		code          int
		says, command string
	}{
		{exitUsage, "did you mean serve? see studiod --help", "sevre"},
		{exitUsage, "unknown flag --adr; did you mean --addr?", "serve --adr"},
		{exitUsage, "usage: studiod serve", "SERVE now"},
		{exitUsage, "_ID EMAIL", "workspace member DB WORKSPACE"},
		{exitUsage, "nothing", "help nothing"},
		{exitUsage, "--db: the database must be sqlite:PATH", "user add --db=mysql:x ada@example.com"},
		{exitUsage, "postgres://", "serve --addr=127.0.0.1:0 --db=PGlocalhost:port/studio"},
		{exitUsage, "postgres://", "serve --addr=127.0.0.1:0 --db=PGlocalhost/studio?pool_max_conns=hunter2"},
		{exitFailure, "postgres://ada@127.0.0.1:1/studio", "user add --db=PG127.0.0.1:1/studio?sslmode=disable ada@example.com"},
		{exitUsage, "directory", "serve --addr=127.0.0.1:0 --db=sqlite:/"},
		{exitUsage, pipe, "serve --addr=127.0.0.1:0 --db=sqlite:PIPE"},
		{exitUsage, "email", "user add DB ada"},
		{exitUsage, "already", "user add DB ADA@example.com"},
		{exitUsage, "UUID", "user add DB --id=7 bob@example.com"},
		{exitUsage, "--expires-in: must have a unit, such as 15m;", "key add DB --expires-in=90 ada@example.com batch"},
		{exitUsage, "no such user", "user role DB bob@example.com operator"},
		{exitUsage, "operator or user", "user role DB ada@example.com admin"},
		{exitUsage, "no operator would be left", "user role DB ada@example.com user"},
		{exitUsage, "--yes", "user delete DB --media=file:/tmp ada@example.com"}, // nobody confirms it
		{exitUsage, "name", "workspace add DB \u200b"},
		{exitUsage, "1 to 100 characters", "key add DB ada@example.com \u200b"},
		{exitUsage, "not a member", "key add DB --workspace WORKSPACE ada@example.com batch"},
		{exitUsage, "workspace", "project import DB -"},
		{exitUsage, "nowhere.json", "project import DB --workspace WORKSPACE nowhere.json"},
		{exitUsage, "--media: a bucket must", "user delete DB --yes --media=here ada@example.com"},
		{exitUsage, "--media: no files of this database", "user delete DB --yes --media=file:FREE ada@example.com"},
		{exitUsage, "--media: a bucket must", "SERVE --media=here"},
		{exitUsage, "FOREIGN: the place is another installation's", "SERVE --media=file:FOREIGN"},
		{exitUsage, "--backup: a bucket must", "SERVE --backup=file:?every=1h"},
		{exitUsage, "must not contain each other", "SERVE --media=file:UNBORN --backup=file:UNBORN/backups"},
		{exitUsage, "--tls-cert and --tls-key: ", "SERVE --tls-cert=KEY --tls-key=CERT"},
		{exitUsage, "renderer", "SERVE --renderer=simulate:soon"},
		{exitUsage, "--renderer: exec:", "SERVE --renderer=exec:/nowhere"},
		{exitUsage, "studiod work", "SERVE --render-workers=0"},
		{exitUsage, "PostgreSQL", "work DB --media=s3://b"},
		{exitUsage, "--media", "WORK"},
		{exitUsage, "studio-render", "WORK --media=s3://b"},
		{exitUsage, "between 1 and 1024", "WORK --media=s3://b --render-workers=0"},
		{exitUsage, "one of auto, manual", "SERVE --consent=never"},
		{exitUsage, "10.0.0.0/8", "SERVE --webhook-allow=home"},
		{exitUsage, "receiver-rate", "SERVE --receiver-rate=hunter2"},
		{exitUsage, "must have no path", "SERVE --public-url=https://nas.example/hunter2"},
		{exitUsage, "only a scheme and a host", "SERVE --public-url=https://nas.example?hunter2"},
		{exitUsage, "console", "SERVE PUBLIC --console=false --smtp=smtp://127.0.0.1?from=a@example.com"},
		{exitUsage, "STUDIO_SMTP_PASSWORD", "SERVE PUBLIC --smtp=smtp://robot@example.com@mail.example.com"},
		{exitUsage, "?from=ADDRESS", "SERVE PUBLIC --smtp=smtp://127.0.0.1"},
		{exitUsage, "--domain", "SERVE --domain=localhost"},
		{exitUsage, "excludes --tls-cert", "SERVE --domain=studio.example.com --tls-cert=CERT --tls-key=KEY"},
		{exitUsage, "needs --domain", "SERVE --http-addr=127.0.0.1:0"},
		{exitUsage, "must be set together", "SERVE --tls-cert=CERT"},
		{exitUsage, "HOST:PORT", "SERVE --addr=hunter2"},
		{exitUsage, "UUID", "event show DB 7"},
		{exitFailure, "there is no such event", "event replay DB WORKSPACE"},
		{exitUsage, "one of pending, delivered, exhausted, none", "event list DB --state=lost"},
		{exitUsage, "--since must be a time", "event list DB --since=yesterday"},
		{exitUsage, "before --until", "event list DB --since=1h --until=2h"},
		{exitUsage, "--all", "event replay DB"},
		{exitUsage, "exclude", "event replay DB --all WORKSPACE"},
		{exitUsage, "endpoint list", "endpoint enable DB --user=ada@example.com https://hooks.example.com/?key=hunter2"},
		{exitUsage, "must end with @TIME", "restore --db=sqlite:/nowhere/studio.db file:backups"},
		{exitUsage, "no backup", "restore --db=sqlite:UNBORN/studio.db file:FOREIGN@latest"},
		{exitUsage, "from 1m to 168h", "restore --db=sqlite:/nowhere/studio.db s3://bucket/prefix?every=1s@latest"},
		{exitUsage, "region is missing", "restore --db=sqlite:/nowhere/studio.db s3://bucket/prefix@latest"},
	} {
		t.Run(test.command, func(t *testing.T) {
			t.Parallel()
			if stderr := fails(t, test.code, names.Replace(test.says), strings.Fields(names.Replace(test.command))...); strings.Contains(stderr, "hunter2") {
				t.Errorf("the error shows a secret: %s", stderr)
			}
			if exists(unborn) {
				t.Error("the database is created before all settings are checked")
			}
		})
	}
	if code, _, stderr := studiod(t, "hunter2", "user", "add", "--db="+dsn, "bob@example.com"); code != exitUsage || !strings.Contains(stderr, "8 to 1024") {
		t.Errorf("a short password: exit code %d, %s", code, stderr)
	}
}

// A mistyped path must not create a database.
func TestCommands_createDatabaseOnlyForNewRecords(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	for _, command := range []string{"secret show ada@example.com", "user password ada@example.com", "event list", "event replay --all", "endpoint list"} {
		fails(t, exitUsage, "no such file", append(strings.Fields(command), "--db=sqlite:"+filepath.Join(directory, "new", "studio.db"))...)
	}
	text := filepath.Join(directory, "text")
	check(t, os.WriteFile(text, []byte("this is a text"), 0o600))
	fails(t, exitUsage, "not a database", "serve", "--addr=127.0.0.1:0", "--db=sqlite:"+text)
	if left, err := os.ReadDir(directory); err != nil || len(left) != 1 {
		t.Errorf("%v is left behind (%v)", left, err)
	}
}

func TestCommands_createTablesOnlyForNewRecords(t *testing.T) {
	t.Parallel()
	db := "--db=" + studiotest.NewEmptyPostgres(t)
	fails(t, exitUsage, "no tables", "secret", "show", db, testEmail)
	must(t, testPassword, "user", "add", db, testEmail)
	must(t, "", "secret", "show", db, testEmail)
	for command, program := range map[string]string{"backup": "pg_dump", "restore": "pg_restore"} {
		fails(t, exitUsage, program, command, db, filepath.Join(t.TempDir(), "file"))
	}
}

// Several daemons can run on one machine, so only an address that a flag names must be free.
func TestServe_failsIfPortIsTaken(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, func(cfg *daemonConfig) { cfg.Admin.Addr = "127.0.0.1:0" })
	taken, admin := d.listener.Addr().String(), d.admin.listener.Addr().String()
	db := "--db=" + studiotest.NewSQLite(t)
	fails(t, exitFailure, "--addr: listen tcp "+taken+": bind: address already in use", "serve", db, "--admin-addr=off", "--addr="+taken)
	fails(t, exitFailure, "--admin-addr: listen tcp "+admin+": bind: address already in use", "serve", db, "--addr=127.0.0.1:0", "--admin-addr="+admin)
	fails(t, exitFailure, store.ErrInUse.Error(), "serve", "--db="+d.cfg.Database, "--addr=127.0.0.1:0", "--admin-addr=off")
}

func TestCommands_readTheEnvironment(t *testing.T) {
	dsn := studiotest.NewSQLite(t)
	t.Setenv("STUDIO_DB", dsn)
	must(t, testPassword, "user", "add", testEmail)
	fails(t, exitUsage, "already exists", "user", "add", "--db="+dsn, testEmail) // it is the database of the environment
	for name, value := range map[string]string{
		"STUDIO_RENDERER": "soon", "STUDIO_CONSENT": "never", "STUDIO_DEMO": "perhaps", "STUDIO_ADDR": "here",
		"STUDIO_WEBHOOK_ALLOW": "http,home", "STUDIO_TRUSTED_PROXIES": "http",
		"STUDIO_DELIVERY_WORKERS": "0", "STUDIO_USER_RATE": "many", "STUDIO_RECEIVER_RATE": "-1",
		acmeVariable: "http://127.0.0.1/", collectorVariable: "http://collector/?key=canary",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			if said := fails(t, exitUsage, "", "serve", "--domain=studio.example.com", "--admin-addr=off"); strings.Contains(said, "canary") {
				t.Errorf("the error shows a secret: %s", said)
			}
		})
	}
}

func TestCommands_defaultToUserDataDirectory(t *testing.T) {
	directory := t.TempDir()
	t.Setenv("XDG_DATA_HOME", directory)
	fails(t, exitUsage, "--db: database sqlite:", "key", "add", testEmail, "batch")
	must(t, testPassword, "user", "add", testEmail)
	info := try(os.Stat(filepath.Join(directory, "avatarstudio", "studio.db")))(t)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v", info.Mode())
	}
}

// The flags of serve are few, and each is in a group of its help.
func TestServe_showsFlagsInGroups(t *testing.T) {
	t.Parallel()
	flags := serveCommand().Flags
	if len(flags) > 28 {
		t.Errorf("serve has %d flags", len(flags))
	}
	for _, flag := range flags {
		if flag.(cli.CategorizableFlag).GetCategory() == "" {
			t.Errorf("--%s is in no group", flag.Names()[0])
		}
	}
}

func TestCommands_haveHelp(t *testing.T) {
	t.Parallel()
	harness.CheckHelp(t, rootCommand(nil, nil, nil), func(args ...string) string { return must(t, "", args...) })
}

func TestCheck_reportsInconsistentRows(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	db := fillEvents(t, dsn)
	if code, stdout, stderr := studiod(t, "", "check", db); code != exitOK || !strings.Contains(stdout+stderr, "no inconsistent rows") {
		t.Errorf("a database without inconsistent rows: exit code %d, %s%s", code, stdout, stderr)
	}
	try(studiotest.OpenSQL(t, dsn).ExecContext(t.Context(), "DELETE FROM deliveries"))(t)
	code, stdout, stderr := studiod(t, "", "check", db, "--json")
	if code != exitFailure || !strings.Contains(stdout, `pending event","subject_id":"`+subjectID+`"}`) {
		t.Errorf("a subject with a pending event that is never due: exit code %d, %s%s", code, stdout, stderr)
	}
}

const hostile = "\x1b[2J\x1b]0;title\a\x00\u009b31m\u202egro.elpmaxe\u2028\x7f\xff\r\n<b>&ü 世 🎬"

// Text from receivers must not control the terminal.
func assertHarmless(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && (r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x202e || r == 0x2028) {
			t.Errorf("%U is printed: %q", r, text)
		}
	}
}

// printed returns what a command prints with --json.
func printed[T any](t *testing.T, args ...string) (all []T) {
	t.Helper()
	for line := range strings.Lines(must(t, "", append(args, "--json")...)) {
		var one T
		check(t, json.Unmarshal([]byte(line), &one))
		all = append(all, one)
	}
	return all
}
