package studiotest

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

// postgresVariable is the environment variable with the URL of a server whose role may create schemas.
const postgresVariable = "STUDIO_TEST_POSTGRES"

// testConnections is the maximum size of the connection pool of one test.
const testConnections = "8"

// connectTimeout is the setting for how long opening a connection may take. On a busy machine, the server needs longer
// to start a process for it than the store waits for a server that may be gone.
const connectTimeout = "connect_timeout"

// sharedPostgres returns the server for the tests of this process: the one named in the environment, or
// else a new cluster that ends with the process. The first test that needs it starts it.
var sharedPostgres = sync.OnceValues(func() (*Cluster, error) {
	if dsn := os.Getenv(postgresVariable); dsn != "" {
		return &Cluster{DSN: dsn}, nil
	}
	return StartCluster("fsync=off", "full_page_writes=off", "deadlock_timeout=100ms", "max_wal_size=64MB", "min_wal_size=32MB")
})

// migrated creates copies of a migrated database on the cluster of this process. A copy takes a third of the
// time of running the migrations. One connection for all tests takes half the time of one for each statement.
type migrated struct {
	mu         sync.Mutex
	connection *pgx.Conn
	template   string
}

var migratedPostgres = sync.OnceValues(func() (*migrated, error) {
	cluster, err := sharedPostgres()
	if err != nil {
		return nil, err
	}
	connection, err := pgx.Connect(context.Background(), cluster.DSN)
	if err != nil {
		return nil, err
	}
	m := &migrated{connection: connection, template: newName()}
	if err := m.exec("CREATE DATABASE " + m.template); err != nil {
		return nil, err
	}
	dsn, err := changeDSN(cluster.DSN, m.template, nil)
	if err != nil {
		return nil, err
	}
	db, err := store.Open(context.Background(), dsn, store.Config{})
	if err != nil {
		return nil, err
	}
	return m, db.Close()
})

func (m *migrated) exec(statement string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.connection.Exec(context.Background(), statement)
	return err
}

// NewPostgres returns the DSN of a new database that is dropped after the test. The database is migrated,
// unless the environment names a server: in that case it is an empty schema. Without PostgreSQL the test is
// skipped, or fails if CI is true.
func NewPostgres(t testing.TB) (dsn string) {
	t.Helper()
	server := postgresServer(t)
	if os.Getenv(postgresVariable) != "" {
		return NewSchema(t, server)
	}
	m := harness.Try(migratedPostgres())(t)
	name := newName()
	harness.Check(t, m.exec("CREATE DATABASE "+name+" TEMPLATE "+m.template+" STRATEGY FILE_COPY"))
	t.Cleanup(func() { harness.Check(t, m.exec("DROP DATABASE "+name+" WITH (FORCE)")) })
	return harness.Try(changeDSN(server, name, url.Values{"pool_max_conns": {testConnections}}))(t)
}

// NewEmptyPostgres is like [NewPostgres], but the database has no tables.
func NewEmptyPostgres(t testing.TB) (dsn string) {
	t.Helper()
	return NewSchema(t, postgresServer(t))
}

func postgresServer(t testing.TB) (dsn string) {
	t.Helper()
	cluster, err := sharedPostgres()
	skipWithoutPostgres(t, err)
	return cluster.DSN
}

// skipWithoutPostgres skips a test if PostgreSQL is not installed. It fails the test if CI is true, and after other
// errors.
func skipWithoutPostgres(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, ErrNotInstalled) && os.Getenv("CI") != "true" {
		t.Skipf("%v: PostgreSQL is not tested", err)
	}
	harness.Check(t, err)
}

// NewSchema creates an empty schema on a server and drops it after the test. It returns the DSN of the
// schema.
func NewSchema(t testing.TB, server string) (dsn string) {
	t.Helper()
	schema := newName()
	harness.Check(t, administer(server, "CREATE SCHEMA "+schema))
	t.Cleanup(func() { harness.Check(t, administer(server, "DROP SCHEMA "+schema+" CASCADE")) })
	return harness.Try(changeDSN(server, "", url.Values{"search_path": {schema}, "pool_max_conns": {testConnections}}))(t)
}

func newName() string { return "test_" + strings.ToLower(rand.Text()) }

// changeDSN returns server with more settings. If database is not empty, the result names that database.
func changeDSN(server, database string, settings url.Values) (dsn string, err error) {
	named, err := url.Parse(server)
	if err != nil {
		return "", errors.New(postgresVariable + " must be a URL")
	}
	if database != "" {
		named.Path = "/" + database
	}
	query := named.Query()
	maps.Copy(query, settings)
	query.Set(connectTimeout, strconv.Itoa(int(harness.Timeout.Seconds())))
	named.RawQuery = query.Encode()
	return named.String(), nil
}

func administer(server, statement string) error {
	connection, err := pgx.Connect(context.Background(), server)
	if err != nil {
		return err
	}
	_, err = connection.Exec(context.Background(), statement)
	return errors.Join(err, connection.Close(context.Background()))
}

// ErrNotInstalled is returned by [StartCluster] if the programs of PostgreSQL are not found.
var ErrNotInstalled = errors.New("PostgreSQL is not installed")

// Cluster is a PostgreSQL server that listens on a Unix socket in its own directory.
type Cluster struct {
	DSN       string         // of a role that may create schemas and databases
	Directory string         // of the socket, with the subdirectory data; "" if the environment names the server
	input     io.WriteCloser // of the shell
	output    *bufio.Reader
	shell     *exec.Cmd
}

// clusterScript starts a server, as a standby if $4 is the directory of its primary. It calls pg_ctl with the words of
// each line of its input. It stops the server and removes its files at the end of its input, which is reached even if
// this process is killed. It ignores signals that are sent to the process group of the tests. The first run of a user
// keeps a copy of the new data directory for all other runs, because initdb takes most of the CPU time of a start.
const clusterScript = `
trap '' HUP INT PIPE TERM
PATH="$2:$PATH"
cd "$1"
copy="${TMPDIR:-/tmp}/studiotest-$(id -u)-$(initdb --version | tr -dc '[:alnum:].')"
{
	if [ "$4" ]; then
		pg_basebackup -h "$4" -U studio -D data -R -c fast --no-sync
	elif [ -O "$copy" ]; then
		cp -R "$copy" data
	elif initdb -D data -U studio -A trust -E UTF8 --locale=C --no-sync; then
		cp -R data "$copy.$$" && mv -T "$copy.$$" "$copy" || rm -rf "$copy.$$"
	fi
	pg_ctl -D data -w -l log -o "$3" start
} </dev/null >start 2>&1 && echo ready || { cat start log; rm -rf "$copy"; exec >&-; }
while read -r command; do
	pg_ctl -D data -w -l log -o "$3" $command </dev/null >control 2>&1 && echo ready || { cat control log; exec >&-; }
done
exec >&-
pg_ctl -D data -m immediate stop >stop 2>&1
cd / && rm -rf "$1"
`

// NewCluster starts a server for one test, which may damage it. See [StartCluster].
func NewCluster(t testing.TB, settings ...string) *Cluster {
	t.Helper()
	cluster, err := StartCluster(settings...)
	skipWithoutPostgres(t, err)
	t.Cleanup(func() { harness.Check(t, cluster.Close()) })
	return cluster
}

// StartCluster starts a server with settings such as "fsync=off". The server stops when this process exits
// or when Close is called.
func StartCluster(settings ...string) (*Cluster, error) { return startCluster("", settings) }

// StartStandby starts a streaming standby of the server.
func (c *Cluster) StartStandby(settings ...string) (*Cluster, error) {
	return startCluster(c.Directory, settings)
}

func startCluster(primary string, settings []string) (*Cluster, error) {
	programs, err := findPrograms()
	if err != nil {
		return nil, err
	}
	directory, err := newDirectory(clusterParent(settings))
	if err != nil {
		return nil, err
	}
	// Files of shared memory are in the data directory, so that they do not outlast it after the server was killed.
	settings = append([]string{"listen_addresses=", "max_connections=300", "dynamic_shared_memory_type=mmap"}, settings...)
	options := "-k " + directory + " -c " + strings.Join(settings, " -c ")
	c := &Cluster{Directory: directory}
	if c.shell, err = c.Command(context.Background(), "sh", "-c", clusterScript, "sh", directory, programs, options, primary); err != nil {
		return nil, err
	}
	if c.input, err = c.shell.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := c.shell.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.shell.Start(); err != nil {
		return nil, err
	}
	c.output = bufio.NewReader(output)
	if err := c.awaitReady(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	c.DSN = "postgres://studio@/postgres?" + url.Values{"host": {directory}, "sslmode": {"disable"}}.Encode()
	return c, nil
}

// clusterParent returns the directory for a cluster with settings. It is in memory if the cluster need not
// survive a crash of the machine: a file system on disk is slow to create and delete the hundreds of files
// of each database.
func clusterParent(settings []string) string {
	memory := memoryDirectory()
	switch {
	case slices.Contains(settings, "fsync=off") && len(memory) <= 60:
		return memory
	case len(os.TempDir()) > 60:
		return "/tmp" // the path of a Unix socket has at most 107 bytes
	default:
		return os.TempDir()
	}
}

// awaitReady waits until the shell has executed a command.
func (c *Cluster) awaitReady() error {
	answer, err := c.output.ReadString('\n')
	if err != nil || answer != "ready\n" {
		rest, _ := io.ReadAll(c.output)
		return fmt.Errorf("PostgreSQL does not start: %s%s", answer, rest)
	}
	return nil
}

// Control calls pg_ctl, for example with "-m immediate restart", which is a crash, or "promote". It waits until the
// server has started, stopped or left the recovery.
func (c *Cluster) Control(command string) error {
	if _, err := io.WriteString(c.input, command+"\n"); err != nil {
		return err
	}
	return c.awaitReady()
}

// Close stops the server immediately, as a crash would, and removes its files.
func (c *Cluster) Close() error {
	return errors.Join(c.input.Close(), c.shell.Wait())
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

// Command returns a command of the user of the server, who owns its directory.
func (c *Cluster) Command(ctx context.Context, words ...string) (*exec.Cmd, error) {
	if os.Geteuid() == 0 { // PostgreSQL refuses to run as root
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
		if err := os.Chown(c.Directory, uid, gid); err != nil {
			return nil, err
		}
		words = append([]string{"setpriv", "--reuid=" + account.Uid, "--regid=" + account.Gid, "--clear-groups", "--"}, words...)
	}
	return exec.CommandContext(ctx, words[0], words[1:]...), nil //nolint:gosec // the commands of tests
}
