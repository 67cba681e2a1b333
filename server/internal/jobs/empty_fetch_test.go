package jobs_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/jobs"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// A subject that is due without a pending event is logged as an error.
func TestSQLite_logsADueSubjectWithoutAnEvent(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		var log bytes.Buffer
		set := func(statement string) {
			db := studiotest.OpenSQL(s.t, s.dsn)
			defer func() { _ = db.Close() }()
			if _, err := db.ExecContext(s.t.Context(), statement); err != nil {
				s.t.Error(err)
			}
		}
		s.create()
		s.work(time.Second)
		set(`INSERT INTO deliveries SELECT id, user_id, origin, webhook_url, 99, 1 FROM subjects`)
		s.config.Logger = slog.New(slog.NewTextHandler(&log, nil))
		stop := start(jobs.NewRunner(s.jobs()))
		time.Sleep(3 * time.Minute)
		stop()
		if !strings.Contains(log.String(), "events are due and none is found") {
			s.t.Errorf("the error is not logged: %s", log.String())
		}
		set(`DELETE FROM deliveries`)
	})
}
