package daemon_test

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

const password = "correct horse battery staple"

// user is a user with a workspace. [setup.login] sets the token.
type user struct {
	id, email, workspace, token string
	secret                      webhook.Secret
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
		u := &user{email: fmt.Sprintf("%s%d@example.com", name, i), workspace: uuid.NewString()}
		added, err := service.AddUser(ctx, "", u.email, password)
		check(s.t, err)
		u.id = added.ID
		_, err = service.AddWorkspace(ctx, u.workspace, u.email)
		check(s.t, err)
		check(s.t, service.AddMember(ctx, u.workspace, u.email))
		secrets, err := service.WebhookSecrets(ctx, u.id)
		check(s.t, err)
		u.secret, err = webhook.ParseSecret(secrets[0])
		check(s.t, err)
		users = append(users, u)
	}
	return users
}

// seed inserts pending events of a user, as if studiod had written them before it stopped. The subjects are distributed
// over the URLs and have the same number of events.
func (s *setup) seed(u *user, urls []string, subjects, events int) {
	s.t.Helper()
	tx, err := s.sql.BeginTx(s.t.Context(), nil)
	check(s.t, err)
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
	s.analyze()
}

// The documents of projects: one with few members, and one in which every member has a value.
const (
	smallProject = `{"project_id":"ID","title":"Project number ID","status":"draft","thumbnail":"https://media.example.com/thumbnails/ID.png"}`
	fullProject  = `{"user_id":"0190a8f2-6f0e-7cc3-b5a1-0f1d6c1f2a3b","project_id":"ID","title":"Product tour","project_type":"PERSONALIZED",` +
		`"created_at":"2026-01-12T09:50:00Z","updated_at":"2026-01-12T09:50:00Z","thumbnail":"https://media.example.com/projects/ID/thumbnail.png",` +
		`"thumbnails":{"thumbnail_png":"https://media.example.com/projects/ID/thumbnail.png","thumbnail_play_png":"",` +
		`"thumbnail_gif":"https://media.example.com/projects/ID/thumbnail.gif","thumbnail_play_gif":"","custom_thumbnail":""},` +
		`"status":"published","language":"english","tags":{"colors":["#2f6f1f"],"names":["tour"]},"available_credits":100,"utilised_credits":7,` +
		`"video":"https://media.example.com/projects/ID/video.mp4","training_job_id":"job-ID","srt":"","srt_target_language":"english",` +
		`"voice_path":"voices/english.wav","smart_url":"https://video.example.com/ID","recording_script":"Product tour.",` +
		`"data_plane_id":"0190a8f2-6f0e-7cc3-b5a1-0f1d6c1f2a3c"}`
)

// seedProjects inserts projects into the workspace of a user.
func (s *setup) seedProjects(u *user, projects int, document string) {
	s.t.Helper()
	s.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < CAST($1 AS INTEGER))
		INSERT INTO projects (id, workspace_id, user_id, created_at, published, document)
		SELECT CAST($2 AS TEXT) || '-' || i, CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS BIGINT) + i, 0,
			REPLACE(CAST($5 AS TEXT), 'ID', CAST($2 AS TEXT) || '-' || i) FROM n`, projects, u.workspace, u.id, time.Now().UnixMicro(), document)
	s.analyze()
}

// seedRecords inserts lip-syncs that are projects of the workspace of a user.
func (s *setup) seedRecords(u *user, records int) {
	s.t.Helper()
	s.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < CAST($1 AS INTEGER))
		INSERT INTO subjects (id, kind, user_id, workspace_id, title, request, webhook_url, origin, status, consent, failure_reason, rendering,
			created_at, updated_at, sequence, render_tries)
		SELECT CAST($2 AS TEXT) || '-record-' || i, 'lipsync', CAST($3 AS TEXT), CAST($2 AS TEXT), 'Record number ' || i, '{}', '', '', 'succeeded', '', '',
			'{"video":"out.mp4","thumbnail":"out.jpg","previews":{"still":"a.png","still_play":"b.png","animation":"a.gif","animation_play":"b.gif"}}',
			CAST($4 AS BIGINT) + i, CAST($4 AS BIGINT) + i, 0, 0 FROM n`, records, u.workspace, u.id, time.Now().UnixMicro())
	s.analyze()
}

// analyze does what autovacuum would do later.
func (s *setup) analyze() {
	s.t.Helper()
	if s.database == postgreSQL {
		s.exec("ANALYZE")
	}
}

func (s *setup) exec(statement string, args ...any) {
	s.t.Helper()
	_, err := s.sql.ExecContext(s.t.Context(), statement, args...)
	check(s.t, err)
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

// written is when and for which origin the event of a subject was written.
type written struct {
	at     time.Time
	origin string
}

// written returns the events of all subjects, which have one each. studiod reads the clock just before it writes an
// event.
func (s *setup) written() map[string]written {
	s.t.Helper()
	rows, err := s.sql.QueryContext(s.t.Context(), `SELECT s.id, e.created_at, s.origin FROM events e JOIN subjects s ON s.id = e.subject_id`)
	check(s.t, err)
	defer func() { _ = rows.Close() }()
	all := make(map[string]written)
	for rows.Next() {
		var subject, origin string
		var at int64
		check(s.t, rows.Scan(&subject, &at, &origin))
		all[subject] = written{time.UnixMicro(at), origin}
	}
	check(s.t, rows.Err())
	return all
}
