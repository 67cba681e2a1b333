package studiotest

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// postgresVariable names a server whose role may create schemas, as postgres://…
const postgresVariable = "STUDIO_TEST_POSTGRES"

// testConnections is what the pool of one test may have of the connections of the server.
const testConnections = "8"

// sharedPostgres is the server of this process: the one of the environment, or else a cluster that
// goes when the process does. It is started by the first test that needs it.
var sharedPostgres = sync.OnceValues(func() (*Cluster, error) {
	if dsn := os.Getenv(postgresVariable); dsn != "" {
		return &Cluster{DSN: dsn}, nil
	}
	return StartCluster("fsync=off", "full_page_writes=off")
})

// NewPostgres makes a schema that is dropped after the test and returns the DSN that names it. It
// skips the test where there is no PostgreSQL, and fails it there when CI is true.
func NewPostgres(t testing.TB) (dsn string) {
	t.Helper()
	cluster, err := sharedPostgres()
	if errors.Is(err, ErrNotInstalled) && os.Getenv("CI") != "true" {
		t.Skipf("%v, and %s names no server: PostgreSQL is not tested", err, postgresVariable)
	}
	if err != nil {
		t.Fatal(err)
	}
	return NewSchema(t, cluster.DSN)
}

// NewSchema makes a schema on a server that is dropped after the test.
func NewSchema(t testing.TB, server string) (dsn string) {
	t.Helper()
	schema := "test_" + strings.ToLower(rand.Text())
	administer(t, server, "CREATE SCHEMA "+schema)
	t.Cleanup(func() { administer(t, server, "DROP SCHEMA "+schema+" CASCADE") })
	named, err := url.Parse(server)
	if err != nil {
		t.Fatal(postgresVariable + " must be a URL")
	}
	query := named.Query()
	query.Set("search_path", schema)
	query.Set("pool_max_conns", testConnections)
	named.RawQuery = query.Encode()
	return named.String()
}

func administer(t testing.TB, server, statement string) {
	t.Helper()
	connection, err := pgx.Connect(context.Background(), server)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := connection.Exec(context.Background(), statement); err != nil {
		t.Error(err)
	}
	if err := connection.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// ErrNotInstalled is returned by [StartCluster] where there are no programs to start one.
var ErrNotInstalled = errors.New("PostgreSQL is not installed")

// Cluster is a PostgreSQL server on a socket in a directory of its own.
type Cluster struct {
	DSN   string // names a role that may create schemas
	keep  io.WriteCloser
	shell *exec.Cmd
}

// clusterScript serves until its input ends, which it does however this process ends, and restarts
// the server for each line. Signals to the process group are for the tests.
const clusterScript = `
trap '' HUP INT TERM
PATH="$2:$PATH"
cd "$1"
{
	initdb -D data -U studio -A trust -E UTF8 --locale=C --no-sync &&
	pg_ctl -D data -w -l log -o "$3" start
} </dev/null >start 2>&1 && echo ready || { cat start log; exec >&-; }
exec >&-
while read -r _; do pg_ctl -D data -w -m immediate -l log -o "$3" restart >restart 2>&1; done
pg_ctl -D data -m immediate stop >stop 2>&1
cd / && rm -rf "$1"
`

// StartCluster starts a server with settings such as "fsync=off". It ends with this process, or
// when it is closed.
func StartCluster(settings ...string) (*Cluster, error) {
	programs, err := findPrograms()
	if err != nil {
		return nil, err
	}
	parent := ""
	if len(os.TempDir()) > 60 {
		parent = "/tmp" // the path of a socket has at most 107 bytes
	}
	directory, err := os.MkdirTemp(parent, "pg")
	if err != nil {
		return nil, err
	}
	settings = append([]string{"listen_addresses=", "max_connections=300"}, settings...)
	options := "-k " + directory + " -c " + strings.Join(settings, " -c ")
	command := []string{"sh", "-c", clusterScript, "sh", directory, programs, options}
	if os.Geteuid() == 0 { // whom PostgreSQL does not serve
		if command, err = dropRights(command, directory); err != nil {
			return nil, err
		}
	}
	c := &Cluster{shell: exec.CommandContext(context.Background(), command[0], command[1:]...)} //nolint:gosec // of ours
	if c.keep, err = c.shell.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := c.shell.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.shell.Start(); err != nil {
		return nil, err
	}
	answer, err := bufio.NewReader(output).ReadString('\n')
	if err != nil || answer != "ready\n" {
		rest, _ := io.ReadAll(output)
		return nil, errors.Join(fmt.Errorf("PostgreSQL does not start: %s%s", answer, rest), c.Close())
	}
	c.DSN = "postgres://studio@/postgres?" + url.Values{"host": {directory}, "sslmode": {"disable"}}.Encode()
	return c, nil
}

// Restart makes the server crash and come back. It does not wait for that.
func (c *Cluster) Restart() error {
	_, err := io.WriteString(c.keep, "\n")
	return err
}

// Close stops the server at once, as a crash would, and removes its files.
func (c *Cluster) Close() error {
	return errors.Join(c.keep.Close(), c.shell.Wait())
}

// findPrograms returns the directory of initdb and pg_ctl.
func findPrograms() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		path, err = filepath.EvalSymlinks(path)
		return filepath.Dir(path), err
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", ErrNotInstalled
	}
	return filepath.Dir(found[len(found)-1]), nil
}

// dropRights makes a command run as a user without any, who gets the directory.
func dropRights(command []string, directory string) ([]string, error) {
	account, err := user.Lookup("postgres")
	if err != nil {
		if account, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, err := strconv.Atoi(account.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(account.Gid)
	if err != nil {
		return nil, err
	}
	if err := os.Chown(directory, uid, gid); err != nil {
		return nil, err
	}
	return append([]string{"setpriv", "--reuid=" + account.Uid, "--regid=" + account.Gid, "--clear-groups", "--"}, command...), nil
}
