package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/avatarstudio/avatarstudio/api/harness"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest/s3test"
)

// postgresBackup runs deploy/postgres-backup.sh for a server.
type postgresBackup struct {
	*studiotest.Cluster
	t *testing.T
}

func newPostgresBackup(t *testing.T) postgresBackup {
	t.Helper()
	if os.Getenv("STUDIO_TEST_POSTGRES_BACKUP") == "" {
		t.Skip("the script is tested by make check-postgres-backup, because that takes half a minute")
	}
	p := postgresBackup{studiotest.NewCluster(t), t}
	for from, to := range map[string]string{"deploy/postgres-backup.sh": "postgres-backup.sh", thisProgram(t)[0]: "studiod"} {
		check(t, exec.CommandContext(t.Context(), "cp", from, p.path(to)).Run()) // where the user of the server can read it
	}
	return p
}

func (p postgresBackup) path(name string) string { return filepath.Join(p.Directory, name) }

// run runs the script with words for a shell. If failure is not "", the script must fail and print it.
func (p postgresBackup) run(failure, words string) {
	p.t.Helper()
	command, err := p.Command(p.t.Context(), "sh", "-c", "cd "+p.Directory+" && "+strings.Replace(words, "SCRIPT", p.path("postgres-backup.sh"), 1))
	check(p.t, err)
	command.Env = append(os.Environ(), "PGHOST="+p.Directory, "PGUSER=studio", "PATH="+p.Directory+":"+os.Getenv("PATH"), asDaemon+"=1")
	output, err := command.CombinedOutput()
	if (err != nil) != (failure != "") || !strings.Contains(string(output), failure) {
		p.t.Errorf("%s: %v, %s", words, err, output)
	}
}

// ask returns the value that a statement selects.
func (p postgresBackup) ask(statement string) (value string) {
	p.t.Helper()
	connection, err := pgx.Connect(p.t.Context(), p.DSN)
	check(p.t, err)
	check(p.t, connection.QueryRow(p.t.Context(), statement).Scan(&value))
	check(p.t, connection.Close(p.t.Context()))
	return value
}

func (p postgresBackup) read(name string) string {
	p.t.Helper()
	content, err := os.ReadFile(p.path(name))
	check(p.t, err)
	return string(content)
}

// write writes a file that the user of the server can read.
func (p postgresBackup) write(name, content string) {
	p.t.Helper()
	check(p.t, os.WriteFile(p.path(name), []byte(content), 0o644))
}

// names returns the names of files in a directory.
func (p postgresBackup) names(directory string) (names []string) {
	p.t.Helper()
	entries, err := os.ReadDir(p.path(directory))
	check(p.t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// What fails says so, and leaves nothing that counts as a backup.
func TestPostgresBackup_failuresLeaveNoHalfBackup(t *testing.T) {
	t.Parallel()
	p := newPostgresBackup(t)
	p.run("run setup", "SCRIPT backup $PWD/archive")
	p.run("absolute path", "SCRIPT setup archive")
	p.run("", "SCRIPT setup $PWD/archive")
	p.run("already", "SCRIPT setup $PWD/archive")
	check(t, p.Control("restart"))
	for range 2 {
		p.run("", "SCRIPT backup $PWD/archive 1")
	}
	kept, segments := p.names("archive/base"), p.names("archive/wal")
	if len(kept) != 1 || len(segments) > 5 {
		t.Errorf("of two backups, %v and %v are kept", kept, segments)
	}
	p.run("is its disk mounted", "SCRIPT archive $PWD/missing data/PG_VERSION name")
	p.run("name is not archived", "ulimit -f 0; SCRIPT archive $PWD/archive data/postgresql.conf name")
	p.run("does another server use", "SCRIPT archive $PWD/archive data/PG_VERSION "+strings.TrimSuffix(segments[0], ".gz"))
	p.run("there is no new backup", "ulimit -f 100; SCRIPT backup $PWD/archive")
	p.run("another backup is running", "flock archive/lock SCRIPT backup $PWD/archive")
	check(t, os.Rename(p.path("archive/wal"), p.path("archive/unmounted")))
	p.run("does not archive its WAL", "SCRIPT backup $PWD/archive")
	check(t, os.Rename(p.path("archive/unmounted"), p.path("archive/wal")))
	if after := p.names("archive/base"); !slices.Equal(after, kept) || slices.ContainsFunc(p.names("archive/wal"), func(name string) bool { return strings.Contains(name, "name") }) {
		t.Errorf("after failures, there are %v and %v", after, p.names("archive/wal"))
	}
	p.run("", "SCRIPT backup $PWD/archive")
}

// A machine with a PostgreSQL server and files is lost. One command restores both on a new one, as they were at a time.
func TestPostgresBackup_restoresALostMachine(t *testing.T) {
	t.Parallel()
	p := newPostgresBackup(t)
	p.run("", "SCRIPT setup $PWD/archive")
	check(t, p.Control("restart"))
	bucket := s3test.New(t)
	place := strings.Replace(bucket.URL, "?", "/team?", 1)
	prepareDatabase(t, p.DSN)
	args := []string{"--renderer=simulate:0s", "--media=file:" + t.TempDir()}
	lost := startProcess(t, p.DSN, args...)
	const picture = "\xff\xd8\xff\xe0 a picture"
	_, err := lost.client.UploadMedia(t.Context(), "image/jpeg", strings.NewReader(picture))
	check(t, err)
	check(t, lost.Stop())
	lost = startProcess(t, p.DSN, append(args, "--backup", place)...)
	create := func() (id string) {
		t.Helper()
		made, err := lost.client.CreateLipsync(t.Context(), gen.CreateLipsyncRequest{Title: gen.Value("Greeting")})
		check(t, err)
		return made.InferenceID
	}
	base := create()
	p.run("", "SCRIPT backup $PWD/archive")
	harness.Eventually(t, "the backup of the files", func() bool { return bucket.Objects(t, "team/db/") == 1 })
	kept := create()
	at := p.ask(`SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')`)
	segment := filepath.Join("archive", "wal", p.ask("SELECT pg_walfile_name(pg_switch_wal())")+".gz")
	late := create()
	later := filepath.Join("archive", "wal", p.ask("SELECT pg_walfile_name(pg_switch_wal())")+".gz")
	harness.Eventually(t, "the archive", func() bool { return exists(p.path(later)) })

	pid, _, _ := strings.Cut(p.read("data/postmaster.pid"), "\n")
	server, err := strconv.Atoi(pid)
	check(t, err)
	check(t, syscall.Kill(server, syscall.SIGKILL))
	check(t, lost.Kill())
	check(t, os.RemoveAll(p.path("data")))

	restore := "SCRIPT restore $PWD/archive $PWD/data "
	p.run("must be latest", restore+"noon")
	p.run("no base backup of this time", restore+"2020-01-01T10:00Z")
	p.run("recovery ended before configured recovery target was reached", restore+"2099-01-01T10:00")
	p.run("must be an absolute path", "SCRIPT restore $PWD/archive data latest")
	p.run("is not empty", "SCRIPT restore $PWD/archive $PWD latest")
	whole := p.read(segment)
	p.write(segment, whole[:len(whole)/2])
	p.run("cannot be restored", restore+at)
	check(t, os.Remove(p.path(segment)))
	p.run("is missing, although", restore+at)
	p.write(segment, whole)
	configuration := filepath.Join("archive", "base", p.names("archive/base")[0], "postgresql.conf")
	right := p.read(configuration)
	p.write(configuration, right+"#")
	p.run("is damaged", restore+at)
	p.write(configuration, right)
	if exists(p.path("data")) {
		t.Error("a restoration that failed leaves a database")
	}

	p.run("", restore+at+" '"+place+"' --db=postgres://new --media=file:$PWD/media")
	check(t, p.Control("start"))
	found := startProcess(t, p.DSN, "--media=file:"+t.TempDir())
	for id, want := range map[string]bool{base: true, kept: true, late: false} {
		if _, err := found.client.GetLipsync(t.Context(), id); (err == nil) != want {
			t.Errorf("video %s: %v", id, err)
		}
	}
	files, err := filepath.Glob(p.path("media/uploads/*/*"))
	if check(t, err); len(files) != 1 {
		t.Fatalf("the files are %v", files)
	}
	if restored, err := os.ReadFile(files[0]); string(restored) != picture {
		t.Errorf("the file is %q, %v", restored, err)
	}
	p.run("run setup", "SCRIPT backup $PWD/archive") // which is that of the lost machine

	check(t, found.Stop())
	p.run("", "SCRIPT setup $PWD/second")
	check(t, p.Control("restart"))
	p.run("", "SCRIPT backup $PWD/second")
	check(t, p.Control("stop"))
	check(t, os.RemoveAll(p.path("data")))
	p.run("", "SCRIPT restore $PWD/second $PWD/data latest")
	check(t, p.Control("start"))
	again := startProcess(t, p.DSN, "--media=file:"+t.TempDir())
	if _, err := again.client.GetLipsync(t.Context(), kept); err != nil {
		t.Errorf("after two restorations: %v", err)
	}
}
