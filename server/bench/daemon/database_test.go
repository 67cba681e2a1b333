package daemon_test

import (
	"fmt"
	"iter"
	"time"

	"github.com/google/uuid"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

const password = "correct horse battery staple"

// user is a user. [setup.login] sets the token.
type user struct {
	id, email, token string
	secret           webhook.Secret
}

// authorization returns the header of requests of the user.
func (u *user) authorization() string { return "Authorization: Bearer " + u.token + "\r\n" }

// addUsers adds users with a name and a number.
func (s *setup) addUsers(name string, n int) (users []*user) {
	s.t.Helper()
	ctx, dsn := s.t.Context(), s.dsn
	if s.database == postgreSQL {
		dsn += "&idle_in_transaction_session_timeout=0" // the rows of a short run may delay this process for longer than its default
	}
	db := studiotest.Open(s.t, dsn)
	cfg := studiotest.Config(db, time.Now)
	cfg.Passwords = studiotest.WeakPasswords{}
	service := studio.New(cfg)
	for i := range n {
		u := &user{email: fmt.Sprintf("%s%d@example.com", name, i)}
		added := try(service.AddUser(ctx, "", u.email, password))(s.t)
		u.id = added.ID
		secrets := try(service.WebhookSecrets(ctx, u.id))(s.t)
		u.secret = try(webhook.ParseSecret(secrets[0]))(s.t)
		users = append(users, u)
	}
	return users
}

// seed inserts pending events of a user, as if studiod had written them before it stopped. The subjects are distributed
// over the URLs and have the same number of events.
func (s *setup) seed(u *user, urls []string, subjects, events int) {
	s.t.Helper()
	tx := try(s.sql.BeginTx(s.t.Context(), nil))(s.t)
	defer func() { _ = tx.Rollback() }() // fails after the commit
	for i, address := range urls {
		backlog := studiotest.Backlog{
			UserID: u.id, Prefix: uuid.NewString() + "-", URL: address, Subjects: (subjects + len(urls) - 1 - i) / len(urls), Events: events,
		}
		if backlog.Subjects > 0 {
			check(s.t, backlog.Insert(s.t.Context(), tx, s.dsn))
		}
	}
	check(s.t, tx.Commit())
	if s.database == postgreSQL {
		s.exec("ANALYZE") // as autovacuum would do later
	}
}

func (s *setup) exec(statement string, args ...any) {
	s.t.Helper()
	try(s.sql.ExecContext(s.t.Context(), statement, args...))(s.t)
}

func (s *setup) number(query string) (n int64) {
	s.t.Helper()
	check(s.t, s.sql.QueryRowContext(s.t.Context(), query).Scan(&n))
	return n
}

// await waits until a query returns at least want.
func (s *setup) await(query string, want int64) {
	s.t.Helper()
	harness.Eventually(s.t, query, func() bool { return s.number(query) >= want })
}

// awaitDelivered waits until all events are recorded as delivered.
func (s *setup) awaitDelivered() {
	s.t.Helper()
	s.await(`SELECT -COUNT(*) FROM events WHERE state <> 'delivered'`, 0)
}

// latencies waits until the receiver has the events of all subjects, which have one each. It returns the time from when
// studiod wrote each event to its arrival, and when that was. studiod reads the clock just before it writes an event.
func (s *setup) latencies(events int) iter.Seq2[time.Duration, time.Time] {
	s.t.Helper()
	arrivals := s.receiver.await(events, maxWait).Arrivals
	return func(yield func(time.Duration, time.Time) bool) {
		rows, err := s.sql.QueryContext(s.t.Context(), `SELECT subject_id, created_at FROM events`)
		check(s.t, err)
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var subject string
			var at int64
			check(s.t, rows.Scan(&subject, &at))
			written := time.UnixMicro(at)
			if arrival, ok := arrivals[subject]; ok && !yield(arrival.Sub(written), written) {
				return
			}
		}
		check(s.t, rows.Err())
	}
}
