package main

import (
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

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
