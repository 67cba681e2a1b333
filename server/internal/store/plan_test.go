package store_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// numbers is the start of a statement: a CTE named n that works on both engines.
const numbers = `WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 5000) `

// fillTables inserts rows into each growing table. Most work is done, and at planNow a tenth of the
// prunable rows is old enough.
var fillTables = []string{
	`INSERT INTO workspaces (id, name, created_at) VALUES ('w0', 'Films', 0), ('w1', 'Films', 0), ('w2', 'Films', 0), ('w3', 'Films', 0)`,
	numbers + `INSERT INTO users (id, email, password_hash, created_at) SELECT 'u' || n, 'u' || n, '', n FROM numbers`,
	numbers + `INSERT INTO event_clocks (user_id, last_at) SELECT 'u' || n, n FROM numbers`,
	numbers + `INSERT INTO known_addresses (user_id, address, seen_at) SELECT 'u' || n, 'a' || n, n FROM numbers`,
	numbers + `INSERT INTO revocations (id, revoked_at) SELECT 'u' || n, n FROM numbers`,
	numbers + `INSERT INTO members (workspace_id, user_id) SELECT 'w' || (n % 4), 'u' || n FROM numbers`,
	numbers + `INSERT INTO login_tries (account, tries, began_at) SELECT 'u' || n, 1, 2588400000000 + n - 500 FROM numbers`,
	numbers + `INSERT INTO refresh_tokens (hash, family, user_id, expires_at) SELECT CAST('t' || n AS BYTEA), 'f' || (n / 10), 'u' || n, 2592000000000 + n - 500 FROM numbers`,
	numbers + `INSERT INTO projects (id, workspace_id, user_id, created_at, published, document) SELECT 'p' || n, 'w' || (n % 4), 'u' || (n % 100), n, n % 2, '{}' FROM numbers`,
	numbers + `INSERT INTO subjects (id, kind, user_id, request, webhook_url, origin, status, consent, failure_reason, created_at, updated_at,
		sequence, render_tries, key_hash, workspace_id) SELECT 's' || n, 'lipsync', 'u' || n, '{"audio_url":"/uploads/00000000-0000-0000-0000-000000000000/a"}', 'https://hooks.example.com/', 'https://' || (n % 100), 'succeeded', '', '', n, n, 1, 0, CAST('k' || n AS BYTEA), 'w' || (n % 4) FROM numbers`,
	numbers + `INSERT INTO renderings (subject_id, user_id, due_at) SELECT 's' || n, 'u' || n, n FROM numbers WHERE n % 10 = 0`,
	numbers + `INSERT INTO deliveries (subject_id, user_id, origin, url, sequence, due_at)
		SELECT 's' || n, 'u' || n, 'https://' || (n % 100), 'https://hooks.example.com/', 1, n FROM numbers WHERE n % 10 = 0`,
	numbers + `INSERT INTO events (id, user_id, kind, subject_id, sequence, body, state, created_at, ended_at, reason)
		SELECT 'e' || n, 'u' || n, 'lipsync', 's' || n, 1, CAST('{}' AS BYTEA), CASE WHEN n % 10 = 0 THEN 'pending' WHEN n % 10 = 1 THEN 'exhausted' ELSE 'delivered' END, n, CASE WHEN n % 10 <> 0 THEN n - 500 END, CASE WHEN n % 10 = 1 THEN 'schedule' ELSE '' END FROM numbers`,
	numbers + `INSERT INTO endpoints (user_id, url, origin, subject_id, used_at, disabled_at, reason) SELECT 'u' || n, 'https://example.com/' || n, '', 's' || n, n, CASE WHEN n % 10 = 0 THEN n END, 'gone' FROM numbers`,
	numbers + `INSERT INTO attempts (event_id, number, at, duration, address, status, failure) SELECT 'e' || n, 0, n, 1, '', 500, '' FROM numbers`,
	numbers + `INSERT INTO webhook_secrets (user_id, secret, expires_at) SELECT 'u' || n, '', 2592000000000 + n - 500 FROM numbers`,
}

// planNow returns the time of the test, 30 days after the epoch.
func planNow() time.Time { return time.UnixMicro(2592000000000) }

// scan matches a plan that reads a whole growing table, by its name or its alias. SQLite also calls it a scan
// if a query reads an index from its start up to a limit.
var scan = regexp.MustCompile(`(^SCAN|Seq Scan on) ` +
	`(users|members|login_tries|known_addresses|revocations|refresh_tokens|projects|subjects|renderings|deliveries|events|endpoints|attempts|event_clocks|webhook_secrets|d|e|q|s|p)( \w+)?(  \(.*)?$`)

// indexScan matches a plan of PostgreSQL that reads an index of a growing table. If no condition follows, it reads all
// of it.
var indexScan = regexp.MustCompile(`Index (Only )?Scan (Backward )?(using|on) \w+`)

func TestStore_queriesScanNoGrowingTable(t *testing.T) {
	t.Parallel()
	// wide matches a query for the events after a position that may begin before it.
	wide := regexp.MustCompile(`\(e\.created_at, e\.id\) (> .*e\.created_at >=|< .*e\.created_at <) `)
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		fill(t, db, 5000)
		db.Exec(t, "ANALYZE")
		seen := make(map[string]bool)
		db.Explain(func(query string, plan []string) {
			query = strings.Join(strings.Fields(query), " ")
			text := query + "\n" + strings.Join(plan, "\n")
			if !seen[query] {
				seen[query] = true
				t.Log(text)
			}
			scans := func(line string) bool { // a co-routine is a subquery, with an alias of its own
				return scan.MatchString(line) && !slices.Contains(plan, "CO-ROUTINE "+strings.TrimPrefix(line, "SCAN "))
			}
			if slices.ContainsFunc(plan, scans) || wide.MatchString(query) {
				t.Errorf("a growing table is scanned: %s", text)
			}
		})
		calls := 1
		if db.Shared() && !testing.Short() {
			calls = 6 // PostgreSQL may choose another plan for a repeated statement
		}
		callEveryMethod(t, db, calls)
		if len(seen) < 30 {
			t.Errorf("%d queries were seen", len(seen))
		}
	})
}

// The planner has no statistics until a table is analyzed for the first time. Those of a new installation are of empty
// tables until it is analyzed again.
func TestPostgres_withoutStatisticsFindsRowsByTheirKeys(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it fills databases of its own")
	for _, before := range []string{"SELECT 1", "ANALYZE"} {
		dsn := studiotest.NewPostgres(t)
		db := studiotest.Open(t, dsn)
		db.Exec(t, before)
		fill(t, db, 5000)
		db.Explain(func(query string, plan []string) {
			for i, line := range plan {
				if indexScan.MatchString(line) && !strings.Contains(line, " on pauses ") && (i+1 == len(plan) || !strings.Contains(plan[i+1], "Index Cond:")) {
					t.Errorf("an index is scanned after %s: %s\n%s", before, query, strings.Join(plan, "\n"))
				}
			}
		})
		for range 7 {
			_, err := db.UpdateSubject(t.Context(), "s9", func(s *studio.Subject) error {
				event(s)
				return nil
			})
			check(t, err)
			deliveries := try(db.Deliveries(t.Context(), []store.DeliveryQuery{{Flow: store.Flow{UserID: "u10", Origin: "https://10"}, Limit: 5}}))(t)
			check(t, recordAttempt(t.Context(), db, deliveries[0][0].Event, studio.Attempt{At: planNow()}, store.Outcome{State: studio.EventPending, RetryAt: planNow()}))
		}
		wantProjectsByTwoIndexes(t, dsn)
	}
}

func TestPostgres_Deliveries_isNotPlannedEachTime(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it fills a database of its own")
	db := studiotest.Open(t, studiotest.NewPostgres(t))
	fill(t, db, 5000)
	db.Exec(t, "UPDATE deliveries SET user_id = 'u1', origin = 'https://1'", "ANALYZE")
	try(db.Deliveries(t.Context(), slices.Repeat([]store.DeliveryQuery{{Flow: store.Flow{UserID: "u1", Origin: "https://1"}, Limit: 5}}, 9)))(t)
	if planned := db.Texts(t, "SELECT statement FROM pg_prepared_statements WHERE custom_plans > 5"); len(planned) > 0 {
		t.Errorf("each execution is planned: %q", planned)
	}
}

// wantProjectsByTwoIndexes reads a page of the projects of a workspace, which are records and subjects.
func wantProjectsByTwoIndexes(t *testing.T, dsn string) {
	t.Helper()
	db, seen := studiotest.Open(t, dsn), 0
	db.Explain(func(query string, plan []string) {
		seen++
		text := query + "\n" + strings.Join(plan, "\n")
		index := "subjects_projects"
		if strings.Contains(query, "FROM projects s") {
			index = "projects_newest"
		}
		i := slices.IndexFunc(plan, func(line string) bool { return strings.Contains(line, "Index Scan using "+index+" ") })
		if i < 0 || !strings.Contains(plan[i+1], "Index Cond: ((workspace_id = ") || slices.ContainsFunc(plan, scan.MatchString) {
			t.Errorf("%s is not used: %s", index, text)
		}
	})
	for range 7 {
		page, more, err := db.Projects(t.Context(), "w0", "u4", studio.Position{CreatedAt: time.UnixMicro(2500), ID: "p2500"}, 4)
		if len(page) != 4 || page[0].ID != "s2496" || page[1].ID != "p2496" || !more || err != nil || seen == 0 {
			t.Errorf("%+v, %t, %v after %d queries", page, more, err, seen)
		}
	}
}

// Pending events are few, so a list of them must not read the others. PostgreSQL chooses by the number of a user's
// events. A user with most events makes it expect many events of every user, in the order of their times. A list of
// events that few match reads those of the user in parts, so that it does not hold a connection for long.
func TestStore_Events_areReadFromTheQueueOrOfTheUser(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it fills databases of its own")
	studiotest.EachDSN(t, func(t *testing.T, dsn string) {
		db, explained := studiotest.Open(t, dsn), studiotest.Open(t, dsn)
		fill(t, db, 5000)
		db.Exec(t, "DELETE FROM deliveries WHERE subject_id NOT IN ('s10', 's20')",
			"UPDATE events SET state = 'delivered' WHERE subject_id NOT IN ('s10', 's20')", "ANALYZE")
		seen, others := 0, []string{"events_created"} // the indexes of other events
		if !db.Shared() {
			others = append(others, "events_user")
		}
		explained.Explain(func(query string, plan []string) {
			seen++
			text := strings.Join(plan, "\n")
			if slices.ContainsFunc(others, func(index string) bool { return strings.Contains(text, index) }) {
				t.Errorf("other events are read: %s\n%s", query, text)
			}
		})
		for _, user := range []string{"", "u20"} {
			events, more, err := explained.Events(t.Context(), studio.EventFilter{UserID: user, State: studio.EventPending}, studio.NewestFirst, studio.Position{}, 1)
			if len(events) != 1 || events[0].ID != "e20" || more != (user == "") || err != nil {
				t.Errorf("%+v, %t, %v", events, more, err)
			}
		}
		db.Exec(t, "UPDATE events SET user_id = 'u1', last_failure = '"+strings.Repeat("x", 400)+"' WHERE user_id <> 'u2'", "ANALYZE")
		others = others[:1]
		for range 7 {
			events, err := explained.NewEvents(t.Context(), "u2", time.UnixMicro(1), 5)
			if check(t, err); len(events) != 1 || events[0].ID != "e2" {
				t.Errorf("%+v", events)
			}
		}
		db.Exec(t, "UPDATE events SET state = 'none' WHERE id IN ('e2000', 'e2001')",
			"UPDATE subjects SET workspace_id = 'w9' WHERE id IN ('s2000', 's2001')", "ANALYZE")
		others = []string{"Filter: (workspace_id"} // all subjects
		for _, order := range []studio.EventOrder{studio.NewestFirst, studio.OldestFirst} {
			for _, filter := range []studio.EventFilter{{UserID: "u1", State: studio.EventUnsent}, {UserID: "u1", WorkspaceID: "w9"}} {
				read := seen
				events, more, err := explained.Events(t.Context(), filter, order, studio.Position{}, 2)
				if len(events) != 2 || (order == studio.NewestFirst) != (events[0].ID == "e2001") || more || err != nil || seen < read+4 {
					t.Errorf("%+v, %t, %v in %d queries", events, more, err, seen-read)
				}
			}
		}
	})
}

// fill executes fillTables for so many rows.
func fill(t *testing.T, db *store.Store, rows int) {
	t.Helper()
	if db.Shared() { // a busy machine may need longer than the answer timeout
		db.SetAnswerTimeout(harness.Timeout)
	}
	for _, statement := range fillTables {
		if !db.Shared() {
			statement = strings.ReplaceAll(statement, "AS BYTEA", "AS BLOB")
		}
		db.Exec(t, strings.Replace(statement, "n < 5000", fmt.Sprint("n < ", rows), 1))
	}
}

// callEveryMethod calls every method that runs regularly, most of them several times.
func callEveryMethod(t *testing.T, db *store.Store, calls int) {
	t.Helper()
	ctx, now := t.Context(), planNow()
	for call := range calls {
		try(db.UserByEmail(ctx, "u5"))(t)
		check(t, db.SetPassword(ctx, "u5", "", "new", studio.RefreshToken{}, now))
		check(t, db.SetRole(ctx, "u5", studio.Operator))
		for _, below := range []string{"", "u5"} {
			try(db.Users(ctx, store.UserFilter{WorkspaceID: "w0"}, below, 25))(t)
			try(db.AllWorkspaces(ctx, below, 25))(t)
			try(db.Users(ctx, store.UserFilter{}, below, 25))(t)
		}
		try(db.Users(ctx, store.UserFilter{Email: "u5"}, "", 25))(t)
		check(t, db.CountWebhookTest(ctx, "u5", now, time.Minute, calls))
		throttles := []studio.Throttle{{Key: "u5", Forgets: true}, {Key: "u6"}}
		try(db.LoginWait(ctx, throttles, now))(t)
		try(db.CountLogin(ctx, throttles, now))(t)
		check(t, db.ReleaseLoginAttempt(ctx, throttles, true))
		try(db.KnowsAddress(ctx, "u5", "a5", now))(t)
		check(t, db.SeeAddress(ctx, "u5", "a5", now))
		check(t, db.RevokeTokens(ctx, "u5", now))
		try(db.Revocations(ctx, now.Add(-time.Second)))(t)
		token := studio.RefreshToken{Hash: fmt.Appendf(nil, "new %d", call), Family: "f", UserID: "u5", ExpiresAt: now.Add(time.Hour)}
		check(t, db.AddRefreshToken(ctx, token, "new", now))
		next := studio.RefreshToken{Hash: fmt.Appendf(nil, "next %d", call), ExpiresAt: now.Add(time.Hour)}
		_, _, err := db.UserByRefreshToken(ctx, token.Hash, now)
		check(t, err)
		try(db.RotateRefreshToken(ctx, token.Hash, now, next))(t)
		_, err = db.RotateRefreshToken(ctx, token.Hash, now, next)
		wantError(t, err, studio.ErrUnauthorized)
		check(t, db.DeleteFamily(ctx, next.Hash, now))
		check(t, db.AddMember(ctx, "w0", "u5"))
		check(t, db.RemoveMember(ctx, "w0", fmt.Sprint("u", 40+4*call)))
		try(db.Workspaces(ctx, "u5", 200))(t)
		page, _, err := db.Projects(ctx, "w0", "u5", studio.Position{}, 100)
		check(t, err)
		_, _, err = db.Projects(ctx, "w0", "u5", studio.Position{CreatedAt: page[99].CreatedAt, ID: page[99].ID}, 100)
		check(t, err)
		try(db.IsImported(ctx, "u5", "w0", "p9"))(t)
		_, err = db.APIKey(ctx, []byte("key"))
		wantError(t, err, studio.ErrNotFound)
		_, _, err = db.Projects(ctx, "w0", "a stranger", studio.Position{}, 500)
		wantError(t, err, studio.ErrForbidden)
		key := studio.IdempotencyKey{Key: "k9", Fingerprint: []byte("f"), After: time.UnixMicro(1)}
		try(db.CreateSubject(ctx, studio.Subject{ID: "keyed", UserID: "u9", CreatedAt: now, UpdatedAt: now}, key))(t)
		_, err = db.UpdateSubject(ctx, "s9", func(s *studio.Subject) error {
			event(s)
			return nil
		})
		check(t, err)
		try(db.ActiveSubject(ctx, "s9"))(t)
		try(db.NextRendering(ctx, now))(t)
		rendering := try(db.ClaimRendering(ctx, "p", now))(t)
		try(db.RenewRenderings(ctx, "p", []string{rendering}))(t)
		check(t, db.ReleaseRenderings(ctx, "p", []string{rendering}))
		check(t, db.ReleaseRendering(ctx, rendering, "p"))
		delivery := try(db.NextDelivery(ctx, "s9"))(t)
		check(t, recordAttempt(ctx, db, delivery.Event, studio.Attempt{At: now}, store.Outcome{State: studio.EventDelivered, DisableURL: true, Reason: studio.ReasonGone}))
		try(db.Attempts(ctx, delivery.Event.ID))(t)
		check(t, db.EnableEndpoint(ctx, "u9", "https://hooks.example.com/"))
		line := store.Flow{UserID: "u10", Origin: "https://10"}
		try(db.Deliveries(ctx, []store.DeliveryQuery{{line, 5}}))(t)
		try(db.LastEvents(ctx, "u9", "u10"))(t)
		try(db.NewEvents(ctx, "u9", now, 5))(t)
		try(db.DueFlows(ctx, nil))(t)
		for _, filter := range []studio.SubjectFilter{
			{UserID: "u5", Kind: studio.Lipsync},
			{UserID: "u5", Kind: studio.Lipsync, Status: studio.Failed},
			{UserID: "u5", Kind: studio.Lipsync, WorkspaceID: "w1"},
			{UserID: "u5", Kind: studio.Video, AvatarID: "s1"},
			{UserID: "u5", Kind: studio.Video, AvatarID: "s1", Status: studio.Failed},
		} {
			_, _, err = db.Subjects(ctx, filter, studio.Position{}, 21)
			check(t, err)
			_, _, err = db.Subjects(ctx, filter, studio.Position{CreatedAt: now, ID: "s9"}, 21)
			check(t, err)
		}
		check(t, db.SaveBreaker(ctx, store.Breaker{Origin: line.Origin, Until: now, Pause: time.Second}))
		_, _, err = db.Endpoints(ctx, "u9", studio.Position{ID: "s9"}, 3)
		check(t, err)
		try(db.Endpoint(ctx, "u9", "https://hooks.example.com/"))(t)
		check(t, db.SaveResults(ctx, []store.EndpointResult{{UserID: "u9", URL: "https://example.com/9"}}))
		try(db.TroubledEndpoints(ctx, 3))(t)
		try(db.EndpointURLs(ctx, "u9", "", 3))(t)
		try(db.OpenBreakers(ctx, "https://1", 25))(t)
		check(t, db.SeeDaemon(ctx, store.Daemon{ID: "p", Started: now}))
		try(db.Daemons(ctx))(t)
		try(db.Breakers(ctx))(t)
		check(t, db.ForgetBreaker(ctx, line.Origin))
		try(db.Status(ctx))(t)
		check(t, db.Ready(ctx))
		check(t, db.CheckWritable(ctx))
		try(db.ExhaustEvents(ctx, "s9", now, studio.ReasonDisabled))(t)
		try(db.Pause(ctx, now))(t)
		try(db.PausedSince(ctx))(t)
		check(t, db.Resume(ctx))
		for _, selection := range []studio.ReplaySelection{
			exhausted(studio.EventFilter{UserID: "u9", SubjectID: "s9"}), exhausted(studio.EventFilter{UserID: "u9"}, "e9", "e10"),
			exhausted(studio.EventFilter{UserID: "u9", From: time.UnixMicro(1)}), exhausted(studio.EventFilter{From: time.UnixMicro(1), To: now}),
			{Filter: studio.EventFilter{UserID: "u9"}, States: []studio.EventState{studio.EventExhausted, studio.EventDelivered}},
		} {
			replay(t, db, selection, now)
		}
		for _, filter := range []studio.EventFilter{
			{}, {ID: "e9"}, {SubjectID: "s9"}, {State: studio.EventExhausted}, {Kind: studio.Video}, {State: studio.EventPending, SubjectID: "s9"}, {From: now.Add(-1), To: now.Add(time.Second)}, {WorkspaceID: "w1"},
		} {
			for _, filter.UserID = range []string{"", "u9"} {
				for _, order := range []studio.EventOrder{studio.NewestFirst, studio.OldestFirst} {
					_, _, err = db.Events(ctx, filter, order, studio.Position{}, 100)
					check(t, err)
					_, _, err = db.Events(ctx, filter, order, studio.Position{CreatedAt: now, ID: "e9"}, 100)
					check(t, err)
				}
			}
			try(db.CountReplay(ctx, exhausted(filter), now))(t)
		}
		check(t, db.AddWebhookSecret(ctx, "u5", "new", now, now, 10))
		try(db.WebhookSecrets(ctx, "u5", now))(t)
	}
	try(db.DeleteSubject(ctx, "u7", "", studio.Lipsync, "s7", now, now))(t)
	created := studio.Subject{ID: "new", UserID: "u5", Status: studio.Processing, CreatedAt: now, UpdatedAt: now, RenderAt: now}
	event(&created)
	try(db.CreateSubject(ctx, created, studio.IdempotencyKey{Key: "new", Fingerprint: []byte("f"), After: now}))(t)
	try(db.ImportProjects(ctx, []studio.Project{{ID: "new", WorkspaceID: "w0", CreatedAt: now}}))(t)
	db.Exec(t, fmt.Sprintf(`UPDATE endpoints SET failing_since = 1, last_at = %d, disabled_at = NULL WHERE user_id = 'u5'`, now.UnixMicro()))
	alert := try(db.ClaimAlert(ctx, now))(t)
	check(t, db.PostponeAlert(ctx, alert, now))
	check(t, deleteUser(t, db, "u8", now))
	check(t, db.ShiftDue(ctx, -time.Second))
	studiotest.FinishTasks(t, db, now)
	check(t, db.Prune(ctx, now))
}
