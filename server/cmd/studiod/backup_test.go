package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

func TestBackup_restoreRoundTrips(t *testing.T) {
	t.Parallel()
	db := fillEvents(t, studiotest.NewSQLite(t))
	directory := t.TempDir()
	file, elsewhere := filepath.Join(directory, "backup.db"), "--db=sqlite:"+filepath.Join(directory, "studio.db")
	interrupted := filepath.Join(directory, "interrupted.db")
	for _, partial := range []string{interrupted + ".partial", filepath.Join(directory, "studio.db.partial")} { // as kill -9 leaves them
		check(t, os.WriteFile(partial, nil, 0o600))
	}
	list := func(db string) string {
		t.Helper()
		code, stdout, stderr := studiod(t, "", "event", "list", db, "--json")
		if code != exitOK || stdout == "" {
			t.Fatalf("event list: exit code %d, %s", code, stderr)
		}
		return stdout
	}
	for _, step := range []struct {
		args    []string
		code    int
		printed string
	}{
		{[]string{"backup", db, file}, exitOK, "the database is backed up"},
		{[]string{"backup", db, file}, exitUsage, "the file already exists"},
		{[]string{"backup", db, interrupted}, exitUsage, interrupted + ".partial exists: delete it"},
		{[]string{"restore", db, file}, exitUsage, "the database already exists"},
		{[]string{"restore", elsewhere, filepath.Join(directory, "missing")}, exitUsage, "no such file"},
		{[]string{"restore", elsewhere, file}, exitOK, "the database is restored"},
	} {
		code, stdout, stderr := studiod(t, "", step.args...)
		if code != step.code || !strings.Contains(stdout+stderr, step.printed) {
			t.Errorf("%v: exit code %d, %s%s", step.args, code, stdout, stderr)
		}
	}
	if got, want := list(elsewhere), list(db); got != want {
		t.Errorf("the events are %s, want %s", got, want)
	}
}

func TestBackup_ofPostgreSQLNamesPgDump(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewPostgres(t)
	db := fillEvents(t, dsn)
	for command, program := range map[string]string{"backup": "pg_dump", "restore": "pg_restore"} {
		fails(t, exitUsage, program, command, db, filepath.Join(t.TempDir(), "file"))
	}
}
