package deliver_test

import (
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// However many attempts there are, the row of a URL is written at most once a second. It has the last one in the end,
// also if it could not be written for a while.
func TestSQLite_writesTheRowOfAURLOnceASecond(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		const seconds, outage = 5, 3
		s.exec(`CREATE TABLE written (at INTEGER)`,
			`CREATE TRIGGER writes AFTER UPDATE ON endpoints BEGIN INSERT INTO written VALUES (NEW.last_at); END`)
		s.workWhile(time.Minute, func() {
			for range 10 * seconds {
				s.create()
				time.Sleep(time.Second / 10)
			}
			s.exec(`CREATE TRIGGER full BEFORE UPDATE ON endpoints BEGIN SELECT RAISE(ABORT, 'full'); END`)
			s.create()
			time.Sleep(outage * time.Second)
			s.exec(`DROP TRIGGER full`)
		})
		var written int
		db := studiotest.OpenSQL(s.t, s.dsn)
		check(s.t, db.QueryRowContext(s.t.Context(), `SELECT COUNT(*) FROM written`).Scan(&written))
		check(s.t, db.Close())
		if written < seconds || written > seconds+outage {
			s.t.Errorf("the row is written %d times in %d seconds", written, seconds)
		}
		page := try(s.studio.Endpoints(s.t.Context(), s.user.ID, "", 2))(s.t)
		all := s.receiver.deliveries()
		if last := all[len(all)-1].At; len(page.Endpoints) != 1 || !page.Endpoints[0].Last.At.Equal(last.Truncate(time.Microsecond)) {
			s.t.Errorf("the endpoints are %+v after an attempt at %v", page.Endpoints, last)
		}
	})
}
