package deliver_test

import (
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// However many attempts there are, the row of a URL is written at most once a second, and however many URLs there are,
// within a second. It has the last attempt in the end, also if it could not be written for a while.
func TestSQLite_writesTheRowOfAURLOnceASecond(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		const seconds, outage, others = 5, 3, 1200
		s.seed(1, urls(others)...)
		s.exec(`CREATE TABLE written (at INTEGER)`,
			`CREATE TRIGGER writes AFTER UPDATE ON endpoints WHEN NEW.url = '`+hookURL+`' BEGIN INSERT INTO written VALUES (NEW.last_at); END`,
			`INSERT INTO endpoints (user_id, url, origin, subject_id, used_at) SELECT user_id, webhook_url, origin, id, 0 FROM subjects`)
		count := func(query string) (n int) {
			db := studiotest.OpenSQL(s.t, s.dsn)
			check(s.t, db.QueryRowContext(s.t.Context(), query).Scan(&n))
			check(s.t, db.Close())
			return n
		}
		s.workWhile(time.Minute, func() {
			time.Sleep(1500 * time.Millisecond)
			if n := count(`SELECT COUNT(*) FROM endpoints WHERE last_at IS NULL`); n > 0 {
				s.t.Errorf("the rows of %d of %d URLs are not written", n, others)
			}
			for range 10 * seconds {
				s.create()
				time.Sleep(time.Second / 10)
			}
			s.exec(`CREATE TRIGGER full BEFORE UPDATE ON endpoints BEGIN SELECT RAISE(ABORT, 'full'); END`)
			s.create()
			time.Sleep(outage * time.Second)
			s.exec(`DROP TRIGGER full`)
		})
		if written := count(`SELECT COUNT(*) FROM written`); written < seconds || written > seconds+outage {
			s.t.Errorf("the row is written %d times in %d seconds", written, seconds)
		}
		s.receiver.takes = 100 * time.Millisecond
		s.create()
		s.work(time.Second / 2) // the last result is written when it stops
		endpoint := try(s.db.Endpoint(s.t.Context(), s.user.ID, hookURL))(s.t)
		all := s.receiver.deliveries()
		if last := all[len(all)-1].At; !endpoint.Last.At.Equal(last.Truncate(time.Microsecond)) {
			s.t.Errorf("the endpoint is %+v after an attempt at %v", endpoint, last)
		}
	})
}
