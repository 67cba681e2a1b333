package deliver_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// A subject that is due without a pending event is logged as an error.
func TestSQLite_logsADueSubjectWithoutAnEvent(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		var log bytes.Buffer
		s.create()
		s.work(time.Second)
		s.exec(`INSERT INTO deliveries (subject_id, user_id, origin, url, sequence, due_at)
			SELECT id, user_id, origin, webhook_url, 99, 1 FROM subjects`)
		s.config.Logger, s.rescans = slog.New(slog.NewTextHandler(&log, nil)), true
		s.work(3 * time.Minute)
		if !strings.Contains(log.String(), "events are due and none is found") {
			s.t.Errorf("the error is not logged: %s", log.String())
		}
		s.exec(`DELETE FROM deliveries`)
	})
}
