package main

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
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
	studiotest.EachDSN(t, testCommands)
}

func testCommands(t *testing.T, dsn string) {
	t.Helper()
	d := startDaemon(t, func(cfg *daemonConfig) { cfg.Database = dsn })
	db := "--db=" + d.cfg.Database
	const id = "01936f3e-6a00-7b2c-9d33-1e5e0e9f8c00"

	if got := must(t, "another password\n", "user", "add", db, "--id", id, "Bob@Example.com"); got != id {
		t.Errorf("the user's id is %s", got)
	}
	workspace := must(t, "", "workspace", "add", db, "Films")
	must(t, "", "workspace", "member", db, workspace, "bob@example.com")
	file := filepath.Join(t.TempDir(), "projects.json")
	check(t, os.WriteFile(file, []byte(`{"data":[
		{"project_id":"01936f3e-7d00-7c4d-8e55-3a7a2b1c0d20","user_id":"`+id+`","status":"draft","title":"One"},
		{"project_id":"01936f3e-7d00-7c4d-8e55-3a7a2b1c0d21","user_id":null,"title":"Two"}
	],"size":1,"unpublished_projects":1}`), 0o600))
	if got := must(t, "", "project", "import", db, "--workspace", workspace, file); got != "2 projects imported" {
		t.Error(got)
	}

	first := must(t, "", "secret", "show", db, "bob@example.com")
	rotated := must(t, "", "secret", "rotate", db, "bob@example.com")
	if lines := strings.Split(rotated, "\n"); len(lines) != 2 || lines[1] != first || !strings.HasPrefix(first, "whsec_") {
		t.Error("a rotation does not show the new secret and then the old one")
	}
	if _, err := d.studio.Login(t.Context(), netip.Addr{}, "bob@example.com", "another password"); err != nil {
		t.Error(err)
	}
	must(t, testPassword, "user", "add", db, "olga@example.com")
	must(t, "", "user", "role", db, "olga@example.com", "operator") // who is left when bob is none
	for role, want := range map[string]studio.Role{"operator": studio.Operator, "user": studio.NoRole} {
		must(t, "", "user", "role", db, "Bob@example.com", role)
		if bob, err := d.studio.UserByEmail(t.Context(), "bob@example.com"); err != nil || bob.Role != want {
			t.Errorf("after the role %s, the user's is %q, %v", role, bob.Role, err)
		}
	}
	must(t, "a third password", "user", "password", db, "bob@example.com")
	if _, err := d.studio.Login(t.Context(), netip.Addr{}, "bob@example.com", "a third password"); err != nil {
		t.Error(err)
	}
	list, err := d.studio.ListProjects(t.Context(), id, studio.ProjectFilter{WorkspaceID: workspace})
	check(t, err)
	for _, err := range list.Pages {
		check(t, err)
	}
	if counts := list.Counts(); counts.Size != 1 || counts.Unpublished != 1 {
		t.Errorf("counts are %d and %d", counts.Size, counts.Unpublished)
	}
}

// Removing a member takes effect at once.
func TestCommands_listAccounts(t *testing.T) {
	t.Parallel()
	studiotest.EachDSN(t, func(t *testing.T, dsn string) {
		db := "--db=" + dsn
		var users, workspaces []string
		for _, email := range []string{"ada@example.com", "bob@example.com", "eve@example.com"} {
			users = append(users, must(t, testPassword, "user", "add", db, email))
			workspaces = append(workspaces, must(t, "", "workspace", "add", db, "Team of "+email))
			must(t, "", "workspace", "member", db, workspaces[0], email)
		}
		must(t, "", "user", "role", db, "bob@example.com", "operator")
		must(t, "", "workspace", "member", db, "--remove", workspaces[0], "ada@example.com")
		for _, test := range []struct {
			args, want []string
			note       string
		}{
			{[]string{"user", "list"}, []string{users[2], users[1], users[0]}, ""},
			{[]string{"user", "list", "--limit=1", "--after=" + users[2]}, []string{users[1]}, "--after " + users[1]},
			{[]string{"user", "list", "--workspace", workspaces[0]}, []string{users[2], users[1]}, ""},
			{[]string{"user", "list", "--workspace", workspaces[1]}, nil, "no users"},
			{[]string{"workspace", "list"}, []string{workspaces[2], workspaces[1], workspaces[0]}, ""},
			{[]string{"workspace", "list", "--limit=2"}, []string{workspaces[2], workspaces[1]}, "--after " + workspaces[1]},
			{[]string{"workspace", "list", "--after=" + workspaces[0]}, nil, "no workspaces"},
		} {
			code, table, note := studiod(t, "", append(test.args, db)...)
			var ids []string
			for _, line := range lines(table)[min(1, len(lines(table))):] {
				ids = append(ids, strings.Fields(line)[0])
			}
			if code != exitOK || !slices.Equal(ids, test.want) || !strings.Contains(note, test.note) {
				t.Errorf("%v: exit code %d, %s, %s", test.args, code, table, note)
			}
		}
		for want, args := range map[string][]string{
			`,"role":"operator","in_progress":0,"email":"bob@example.com"}`: {"user", "list", "--json", "--after", users[2], "--limit=1"},
			`,"members":2,"name":"Team of ada@example.com"}`:                {"workspace", "list", "--json", "--after", workspaces[1]},
		} {
			if _, got, _ := studiod(t, "", append(args, db)...); !strings.Contains(got, want) {
				t.Errorf("%v: %s", args, got)
			}
		}
	})
}

func TestCommands_reportUsageErrorsInOneLine(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	db := "--db=" + dsn
	must(t, testPassword, "user", "add", db, testEmail)
	workspace := must(t, "", "workspace", "add", db, "Team")
	for _, test := range []struct {
		name, stdin string
		args        []string
		code        int
		message     string
	}{
		{"an unknown command", "", []string{"sevre"}, exitUsage, "did you mean serve? see studiod --help"},
		{"an unknown subcommand", "", []string{"user", "rol"}, exitUsage, "did you mean role? see studiod user --help"},
		{"an unknown flag", "", []string{"serve", "--adr"}, exitUsage, "unknown flag --adr; did you mean --addr?"},
		{"too many arguments", "", []string{"serve", db, "now"}, exitUsage, "usage: studiod serve"},
		{"too few arguments", "", []string{"workspace", "member", db, workspace}, exitUsage, "WORKSPACE_ID EMAIL"},
		{"another database", testPassword, []string{"user", "add", "--db=mysql:x", testEmail}, exitUsage, "sqlite:PATH"},
		{"an invalid PostgreSQL URL", "", []string{"serve", "--addr=127.0.0.1:0", "--db=postgres://ada:hunter2@localhost:port/studio"}, exitUsage, "postgres://"},
		{"an invalid setting", "", []string{"serve", "--addr=127.0.0.1:0", "--db=postgres://ada:hunter2@localhost/studio?pool_max_conns=hunter2"}, exitUsage, "postgres://"},
		{"an unreachable PostgreSQL", testPassword, []string{"user", "add", "--db=postgres://ada:hunter2@127.0.0.1:1/studio?sslmode=disable", testEmail}, exitFailure, "postgres://ada@127.0.0.1:1/studio"},
		{"an unknown host", testPassword, []string{"user", "add", "--db=postgres://ada:hunter2@db.invalid/studio", testEmail}, exitFailure, "postgres://ada@db.invalid:5432/studio"},
		{"no such directory", testPassword, []string{"user", "add", "--db=sqlite:/dev/null/studio.db", "bob@example.com"}, exitUsage, "/dev/null"},
		{"an invalid email address", testPassword, []string{"user", "add", db, "ada"}, exitUsage, "email"},
		{"an email address with a name", testPassword, []string{"user", "add", db, "Ada <ada@example.com>"}, exitUsage, "email"},
		{"an email that exists", testPassword, []string{"user", "add", db, "ADA@example.com"}, exitUsage, "already"},
		{"no password", "", []string{"user", "add", db, "bob@example.com"}, exitUsage, "8 to 1024"},
		{"a short password", "hunter2", []string{"user", "add", db, "bob@example.com"}, exitUsage, "8 to 1024"},
		{"a long password", strings.Repeat("hunter2", 200), []string{"user", "add", db, "bob@example.com"}, exitUsage, "8 to 1024"},
		{"an invalid id", testPassword, []string{"user", "add", db, "--id=7", "bob@example.com"}, exitUsage, "UUID"},
		{"an id in capitals", testPassword, []string{"user", "add", db, "--id=01936F3E-6A00-7B2C-9D33-1E5E0E9F8C00", "bob@example.com"}, exitUsage, "lower case"},
		{"the role of an unknown user", "", []string{"user", "role", db, "bob@example.com", "operator"}, exitUsage, "no such user"},
		{"an unknown role", "", []string{"user", "role", db, testEmail, "admin"}, exitUsage, "operator or user"},
		{"the password of an unknown user", testPassword, []string{"user", "password", db, "bob@example.com"}, exitUsage, "no such user"},
		{"a workspace without a name", "", []string{"workspace", "add", db, " "}, exitUsage, "name"},
		{"a member of an unknown workspace", "", []string{"workspace", "member", db, "films", testEmail}, exitUsage, "no such workspace"},
		{"a member that there is not", "", []string{"workspace", "member", db, "--remove", workspace, testEmail}, exitUsage, "no such member"},
		{"the members of a name", "", []string{"user", "list", db, "--workspace=Team"}, exitUsage, "UUID"},
		{"an unknown member", "", []string{"workspace", "member", db, workspace, "bob@example.com"}, exitUsage, "no such workspace or user"},
		{"the secret of an unknown user", "", []string{"secret", "show", db, "bob@example.com"}, exitUsage, "no such user"},
		{"an import without a workspace", "{}", []string{"project", "import", db, "-"}, exitUsage, "workspace"},
		{"an import into an unknown workspace", `{"data":[{"project_id":"01936f3e-7d00-7c4d-8e55-3a7a2b1c0d20"}]}`, []string{"project", "import", db, "--workspace=films", "-"}, exitUsage, "no such workspace"},
		{"a missing file", "", []string{"project", "import", db, "--workspace", workspace, "nowhere.json"}, exitUsage, "nowhere.json"},
		{"an invalid time of renderings", "", []string{"serve", db, "--renderer=simulate:soon"}, exitUsage, "renderer"},
		{"a negative time of renderings", "", []string{"serve", db, "--renderer=simulate:-1s"}, exitUsage, "between 0s and 10m"},
		{"a worker on SQLite", "", []string{"work", db, "--media=s3://b"}, exitUsage, "PostgreSQL"},
		{"a worker without files", "", []string{"work", "--db=postgres://localhost/studio"}, exitUsage, "--media"},
		{"a worker that cannot render", "", []string{"work", "--db=postgres://localhost/studio", "--media=s3://b"}, exitUsage, "studio-render"},
		{"a worker that does nothing", "", []string{"work", "--db=postgres://localhost/studio", "--media=s3://b", "--render-workers=0"}, exitUsage, "between 1 and 1024"},
		{"no renderer", "", []string{"serve", db, "--render-workers=0"}, exitUsage, "studiod work"},
		{"an invalid consent", "", []string{"serve", db, "--consent=never"}, exitUsage, "auto or manual"},
		{"an invalid network", "", []string{"serve", db, "--webhook-allow=home"}, exitUsage, "10.0.0.0/8"},
		{"no workers", "", []string{"serve", db, "--delivery-workers=0"}, exitUsage, "between 1 and 1024"},
		{"an invalid limit", "", []string{"serve", db, "--receiver-rate=many"}, exitUsage, "receiver-rate"},
		{"a rate that is too high", "", []string{"serve", db, "--receiver-rate=100001"}, exitUsage, "between 1 and 100000"},
		{"a public URL with a path", "", []string{"serve", db, "--public-url=https://nas.example/studio"}, exitUsage, "must have no path"},
		{"a public URL with a query", "", []string{"serve", db, "--public-url=https://nas.example?a"}, exitUsage, "only a scheme and a host"},
		{"a public URL without a scheme", "", []string{"serve", db, "--public-url=nas.example"}, exitUsage, "absolute http or https URL"},
		{"mails without a public URL", "", []string{"serve", db, "--smtp=smtp://robot@example.com@mail.example.com"}, exitUsage, "--public-url"},
		{"mails without the console", "", []string{"serve", db, "--public-url=https://studio.example", "--console=false", "--smtp=smtp://127.0.0.1?from=a@example.com"}, exitUsage, "console"},
		{"an invalid mail server", "", []string{"serve", db, "--admin-addr=off", "--public-url=https://studio.example", "--smtp=mail.example.com"}, exitUsage, "smtp://USER@HOST:PORT"},
		{"mails without a sender", "", []string{"serve", db, "--admin-addr=off", "--public-url=https://studio.example", "--smtp=smtp://127.0.0.1"}, exitUsage, "?from=ADDRESS"},
		{"no password for the mail server", "", []string{"serve", db, "--admin-addr=off", "--public-url=https://studio.example", "--smtp=smtp://robot@example.com@mail.example.com"}, exitUsage, "STUDIO_SMTP_PASSWORD"},
		{"a password in the URL of the mail server", "", []string{"serve", db, "--admin-addr=off", "--public-url=https://studio.example", "--smtp=smtp://robot:hunter2@mail.example.com?from=a@example.com"}, exitUsage, "STUDIO_SMTP_PASSWORD"},
		{"an invalid event id", "", []string{"event", "show", db, "7"}, exitUsage, "UUID"},
		{"a missing event", "", []string{"event", "replay", db, userID}, exitFailure, "no event " + userID},
		{"an invalid state", "", []string{"event", "list", db, "--state=lost"}, exitUsage, "pending, delivered, exhausted or none"},
		{"a limit of 0", "", []string{"event", "list", db, "--limit=0"}, exitUsage, "between 1 and 1000"},
		{"an empty subject", "", []string{"event", "list", db, "--subject="}, exitUsage, "UUID"},
		{"an invalid time", "", []string{"event", "list", db, "--since=yesterday"}, exitUsage, "--since must be a time"},
		{"an empty time", "", []string{"event", "list", db, "--until="}, exitUsage, "--until must be a time"},
		{"a future time", "", []string{"event", "list", db, "--since=-2h"}, exitUsage, "--since must be a time"},
		{"a period that ends before it begins", "", []string{"event", "list", db, "--since=1h", "--until=2h"}, exitUsage, "before --until"},
		{"a replay without a selection", "", []string{"event", "replay", db}, exitUsage, "--all"},
		{"a replay of an empty id", "", []string{"event", "replay", db, ""}, exitUsage, "UUID"},
		{"a replay of an empty subject", "", []string{"event", "replay", db, "--subject=", "--since=2h"}, exitUsage, "UUID"},
		{"a replay of one event and of all", "", []string{"event", "replay", db, "--all", userID}, exitUsage, "exclude"},
		{"a replay of a period and of all", "", []string{"event", "replay", db, "--all", "--since=2h"}, exitUsage, "exclude"},
		{"a URL to enable", "", []string{"endpoint", "enable", db, "https://hooks.example.com/?key=hunter2"}, exitUsage, "endpoint list"},
		{"an empty id to enable", "", []string{"endpoint", "enable", db, ""}, exitUsage, "endpoint list"},
		{"an invalid address", "", []string{"serve", db, "--addr=here"}, exitUsage, "HOST:PORT"},
		{"an invalid port", "", []string{"serve", db, "--addr=127.0.0.1:99999"}, exitUsage, "HOST:PORT"},
		{"a directory to import", "", []string{"project", "import", db, "--workspace", workspace, "/"}, exitUsage, "directory"},
		{"a database that is a directory", "", []string{"serve", "--addr=127.0.0.1:0", "--db=sqlite:/"}, exitUsage, "directory"},
		{"help for an unknown command", "", []string{"help", "nothing"}, exitUsage, "nothing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := studiod(t, test.stdin, test.args...)
			if code != test.code || !strings.Contains(stderr, test.message) || !strings.HasPrefix(stderr, "studiod: ") {
				t.Errorf("exit code %d, %q, want %d and %q", code, stderr, test.code, test.message)
			}
			if strings.Contains(stderr, "\n") || stdout != "" || strings.Contains(stderr, "hunter2") {
				t.Errorf("want one line on stderr, got %q %q", stdout, stderr)
			}
		})
	}
}

// A mistyped path must not create a database.
func TestCommands_createDatabaseOnlyForNewRecords(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	db := "--db=sqlite:" + filepath.Join(directory, "new", "studio.db")
	for _, args := range [][]string{
		{"secret", "show", db, testEmail},
		{"secret", "rotate", db, testEmail},
		{"user", "password", db, testEmail},
		{"workspace", "member", db, "films", testEmail},
		{"project", "import", db, "--workspace=films", "-"},
		{"event", "list", db},
		{"event", "show", db, userID},
		{"event", "replay", db, "--all"},
		{"endpoint", "list", db},
		{"endpoint", "enable", db, "6496d827c981fbcc"},
	} {
		if code, _, stderr := studiod(t, `{"data":[]}`, args...); code != exitUsage || !strings.Contains(stderr, "no such file") {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
	}
	if left, err := os.ReadDir(directory); err != nil || len(left) != 0 {
		t.Errorf("%v is left behind (%v)", left, err)
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
}

func TestServe_failsIfPortIsTaken(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	check(t, err)
	defer func() { check(t, listener.Close()) }()
	stderr := fails(t, exitFailure, "studiod: --addr: ", "serve", "--db="+studiotest.NewSQLite(t), "--addr", listener.Addr().String())
	if !strings.Contains(stderr, "address already in use") {
		t.Error(stderr)
	}
}

func TestServe_failsIfAnotherDaemonHasTheFile(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	fails(t, exitFailure, store.ErrInUse.Error(), "serve", "--db="+d.cfg.Database, "--addr=127.0.0.1:0")
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
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			fails(t, exitUsage, "", "serve")
		})
	}
}

func TestCommands_defaultToUserDataDirectory(t *testing.T) {
	directory := t.TempDir()
	t.Setenv("XDG_DATA_HOME", directory)
	demo := "sqlite:" + filepath.Join(directory, "avatarstudio", "demo.db")
	if told := fails(t, exitUsage, "no such file", "key", "add", testEmail, "batch"); strings.Contains(told, demo) {
		t.Errorf("there is no demo: %s", told)
	}
	must(t, testPassword, "user", "add", "--db="+demo, testEmail)
	fails(t, exitUsage, "no such file or directory; --db names another database, such as that of the demo: --db "+demo, "key", "add", testEmail, "batch")
	must(t, testPassword, "user", "add", testEmail)
	info, err := os.Stat(filepath.Join(directory, "avatarstudio", "studio.db"))
	check(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v", info.Mode())
	}
}

func TestCommands_showAnExample(t *testing.T) {
	t.Parallel()
	for _, group := range []*cli.Command{eventCommand(), endpointCommand(), deliveryCommand()} {
		for _, command := range group.Commands {
			example := "Example: studiod " + group.Name + " " + command.Name
			if got := must(t, "", group.Name, command.Name, "--help"); !strings.Contains(got, example) {
				t.Errorf("help is %q, without %q", got, example)
			}
		}
	}
}

// The flags of serve are few, and each is in a group of its help.
func TestServe_showsFlagsInGroups(t *testing.T) {
	t.Parallel()
	help := must(t, "", "serve", "--help")
	flags := serveCommand().Flags
	if len(flags) > 28 {
		t.Errorf("serve has %d flags", len(flags))
	}
	for _, flag := range flags {
		group := flag.(cli.CategorizableFlag).GetCategory()
		title, option := strings.Index(help, "\n   "+group+":\n"), strings.Index(help, "\n   --"+flag.Names()[0])
		if group == "" || title < 0 || title > option {
			t.Errorf("--%s is not in the group %q: %s", flag.Names()[0], group, help)
		}
	}
}

func TestCommands_showTheRangesOfFlags(t *testing.T) {
	t.Parallel()
	numbers := 0
	var walk func(command *cli.Command)
	walk = func(command *cli.Command) {
		for _, flag := range command.Flags {
			usage := flag.(cli.DocGenerationFlag).GetUsage()
			switch flag.(type) {
			case *cli.IntFlag, *cli.DurationFlag:
				if numbers++; !regexp.MustCompile(`\(\w+ to \w+\)$`).MatchString(usage) {
					t.Errorf("the help of %s --%s shows no range: %s", command.Name, flag.Names()[0], usage)
				}
			}
		}
		for _, child := range command.Commands {
			walk(child)
		}
	}
	walk(rootCommand(nil, nil, nil))
	if numbers < 10 {
		t.Errorf("%d flags are numbers", numbers)
	}
}

func TestCommands_haveHelp(t *testing.T) {
	t.Parallel()
	harness.CheckHelp(t, rootCommand(nil, nil, nil), func(args ...string) string { return must(t, "", args...) })
	for _, args := range [][]string{{"--help"}, {"help"}, {}, {"user"}, {"serve", "--help"}, {"project", "import", "--help"}} {
		t.Run(fmt.Sprint(args), func(t *testing.T) {
			t.Parallel()
			if got := must(t, "", args...); !strings.Contains(got, "USAGE") {
				t.Errorf("help is %q", got)
			}
		})
	}
}
