package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// maxEndpointEvents bounds the rows that are read to count the events of endpoints: the waiting subjects of each
// origin, and the newest exhausted events of the user.
const maxEndpointEvents = 10_000

// usedPrecision is the precision of when an endpoint was used, so that most attempts do not change an index.
const usedPrecision = 24 * time.Hour

func (s *Store) PauseEndpoint(ctx context.Context, userID, url string, now time.Time) error {
	return s.write(ctx, func(tx transaction) error {
		err := lockUser(ctx, tx, `id = $1`, userID)
		if err == nil {
			_, err = pause(ctx, tx, userID, url, now)
		}
		return err
	})
}

func (s *Store) EnableEndpoint(ctx context.Context, userID, url string) error {
	return s.write(ctx, func(tx transaction) error {
		_, err := tx.exec(ctx, `UPDATE endpoints SET disabled_at = NULL, reason = '' WHERE user_id = $1 AND url = $2 AND disabled_at IS NOT NULL`, userID, url)
		if err != nil {
			return err
		}
		ended, err := tx.exec(ctx, `DELETE FROM pauses WHERE user_id = $1 AND url = $2`, userID, url)
		if ended > 0 {
			tx.mark(SignalDue, Flow{userID, studio.Origin(url)}.key())
		}
		return err
	})
}

func (s *Store) EndpointURLs(ctx context.Context, userID, after string, limit int) ([]string, error) {
	return queryRows(ctx, s.engine, oneColumn[string],
		`SELECT url FROM endpoints WHERE user_id = $1 AND url > $2 ORDER BY url `+limitTo("$3"), userID, after, limit)
}

func (s *Store) Endpoints(ctx context.Context, userID string, after studio.Position, limit int) (page []studio.Endpoint, more bool, err error) {
	last := ""
	if after.ID != "" {
		err := queryRow(ctx, s.engine, []any{&last}, `SELECT url FROM endpoints WHERE subject_id = $1 AND user_id = $2`, after.ID, userID)
		if errors.Is(err, studio.ErrNotFound) {
			err = studio.ErrCursor
		}
		if err != nil {
			return nil, false, err
		}
	}
	page, err = s.endpoints(ctx, `endpoints e`, `e.user_id = $1 AND e.url > $2`, `e.url `+limitTo("$3"), userID, last, limit+1)
	more = len(page) > limit
	return page[:min(limit, len(page))], more, err
}

// TroubledEndpoints returns up to limit endpoints of all users whose last attempt failed, or which are disabled or
// paused, in this order.
func (s *Store) TroubledEndpoints(ctx context.Context, limit int) ([]studio.Endpoint, error) {
	// SQLite reads the left side of a CROSS JOIN first.
	return s.endpoints(ctx, `(SELECT user_id, url FROM endpoints WHERE failing_since IS NOT NULL
			UNION SELECT user_id, url FROM endpoints WHERE disabled_at IS NOT NULL
			UNION SELECT user_id, url FROM pauses WHERE user_id <> '' AND url <> '') troubled
		CROSS JOIN endpoints e`, `e.user_id = troubled.user_id AND e.url = troubled.url`,
		`CASE WHEN e.disabled_at IS NOT NULL THEN 2 WHEN e.failing_since IS NOT NULL THEN 1 ELSE 3 END, e.user_id, e.url `+limitTo("$1"), limit)
}

func (s *Store) Endpoint(ctx context.Context, userID, url string) (studio.Endpoint, error) {
	page, err := s.endpoints(ctx, `endpoints e`, `e.user_id = $1 AND e.url = $2`, `e.url`, userID, url)
	if err == nil && len(page) == 0 {
		err = studio.ErrNotFound
	}
	if err != nil {
		return studio.Endpoint{}, err
	}
	return page[0], nil
}

// endpoints returns the endpoints e of a FROM clause that match a condition.
func (s *Store) endpoints(ctx context.Context, from, condition, order string, args ...any) ([]studio.Endpoint, error) {
	found, err := queryRows(ctx, s.engine, func(e *studio.Endpoint) []any {
		return append([]any{
			&e.SubjectID, &e.UserID, &e.Email, &e.URL,
			instant{&e.DisabledAt},
			&e.DisabledReason,
			instant{&e.OpenUntil},
			instant{&e.PausedAt},
			instant{&e.LastSuccessAt},
			instant{&e.FailingSince},
		}, attemptDest(&e.Last)...)
	}, `SELECT e.subject_id, e.user_id, COALESCE((SELECT email FROM users WHERE id = e.user_id), ''), e.url, e.disabled_at, e.reason,
			(SELECT until FROM breakers WHERE origin = e.origin),
			(SELECT MIN(q.paused_at) FROM pauses q WHERE q.user_id IN ('', e.user_id) AND q.url IN ('', e.url)),
			e.last_success_at, e.failing_since, `+lastAttemptColumns+`
		FROM `+from+` WHERE `+condition+` ORDER BY `+order, args...)
	if err == nil {
		err = s.countEvents(ctx, found)
	}
	return found, err
}

// countEvents sets the counts of endpoints.
func (s *Store) countEvents(ctx context.Context, page []studio.Endpoint) error {
	type key struct{ userID, url string }
	byURL := make(map[key]*studio.Endpoint, len(page))
	asked := make(map[key]bool) // origins of users, and users
	var waiting, exhausted []statement
	for i, e := range page {
		byURL[key{e.UserID, e.URL}] = &page[i]
		if origin := (key{e.UserID, studio.Origin(e.URL)}); !asked[origin] {
			asked[origin] = true
			waiting = append(waiting, statement{`SELECT d.user_id, d.url, COUNT(*)
				FROM (SELECT * FROM deliveries WHERE user_id = $1 AND origin = $2 ORDER BY due_at ` + limitTo("$3") + `) d
				JOIN events e ON e.subject_id = d.subject_id AND e.sequence >= d.sequence AND e.state = 'pending' GROUP BY d.user_id, d.url`, []any{e.UserID, origin.url, maxEndpointEvents}})
		}
		if !asked[key{userID: e.UserID}] {
			asked[key{userID: e.UserID}] = true
			exhausted = append(exhausted, statement{`SELECT s.user_id, s.webhook_url, COUNT(*)
				FROM (SELECT subject_id FROM events WHERE user_id = $1 AND reason <> '' AND reason <> 'deleted' ORDER BY created_at DESC ` + limitTo("$2") + `) e
				JOIN ` + s.engine.lookup("subjects s", `s.id = e.subject_id`) + ` GROUP BY s.user_id, s.webhook_url`, []any{e.UserID, maxEndpointEvents}})
		}
	}
	read := func(queries []statement, set func(e *studio.Endpoint, count int64)) error {
		return s.engine.queryAll(ctx, func(scan func(...any) error) error {
			var of key
			var count int64
			err := scan(&of.userID, &of.url, &count)
			if e := byURL[of]; e != nil {
				set(e, count)
			}
			return err
		}, queries)
	}
	if err := read(waiting, func(e *studio.Endpoint, count int64) { e.Waiting = count }); err != nil {
		return err
	}
	return read(exhausted, func(e *studio.Endpoint, count int64) { e.Exhausted = count })
}

// EndpointResult is what attempts for a URL of a user tell since an earlier result.
type EndpointResult struct {
	UserID, URL   string
	Last          studio.Attempt
	LastSuccessAt time.Time // zero if none succeeded
	FailingSince  time.Time // of the first failure after the last success; zero if the last attempt succeeded
}

// Add adds an attempt to a result, without its excerpt.
func (r *EndpointResult) Add(attempt studio.Attempt) {
	attempt.Excerpt = nil
	r.Last = attempt
	switch {
	case attempt.Failure == "":
		r.LastSuccessAt, r.FailingSince = attempt.At.Add(attempt.Duration), time.Time{}
	case r.FailingSince.IsZero():
		r.FailingSince = attempt.At
	}
}

// SaveResults stores results of known endpoints, each URL once. An outage that it knows goes on unless an attempt has
// succeeded.
func (s *Store) SaveResults(ctx context.Context, results []EndpointResult) error {
	slices.SortFunc(results, func(a, b EndpointResult) int { // so that no two processes wait for each other
		return strings.Compare(a.UserID+" "+a.URL, b.UserID+" "+b.URL)
	})
	return s.execAll(ctx, updateEndpoints.with(s.engine, results...))
}

// The statements that write endpoints.
//
//nolint:gochecknoglobals // constants
var (
	// insertEndpoints inserts the URLs of new subjects that are new, in the order of their keys.
	insertEndpoints = newRowStatement(endpointColumns, func(c *creation) []any {
		s := &c.subject
		return []any{s.UserID, s.WebhookURL, studio.Origin(s.WebhookURL), s.ID, micros(s.CreatedAt)}
	}, func(sql dialect) string {
		return insertInto("endpoints", endpointColumns)(sql) + ` WHERE r.url <> '' ON CONFLICT (user_id, url) DO NOTHING`
	})

	updateEndpoints = newRowStatement(`user_id text, url text, failing_since bigint, last_success_at bigint, number int, at bigint,
		duration bigint, address text, status int, failure text`, func(r EndpointResult) []any {
		return []any{
			r.UserID, r.URL, micros(r.FailingSince), micros(r.LastSuccessAt), r.Last.Number, micros(r.Last.At),
			r.Last.Duration.Microseconds(), r.Last.Address, r.Last.Status, r.Last.Failure,
		}
	}, func(dialect) string {
		return `UPDATE endpoints SET failing_since = CASE WHEN r.failing_since IS NULL OR r.last_success_at IS NOT NULL OR endpoints.failing_since IS NULL
				THEN r.failing_since ELSE endpoints.failing_since END,
			last_success_at = COALESCE(r.last_success_at, endpoints.last_success_at), last_number = r.number, last_at = r.at,
			last_duration = r.duration, last_address = r.address, last_status = r.status, last_failure = r.failure,
			used_at = CASE WHEN r.at > endpoints.used_at + ` + fmt.Sprint(usedPrecision.Microseconds()) + ` THEN r.at ELSE endpoints.used_at END
			FROM r WHERE endpoints.user_id = r.user_id AND endpoints.url = r.url`
	})

	disableEndpoint = newRowStatement(`subject_id text, disabled_at bigint, reason text`, func(r *MadeAttempt) []any {
		return []any{r.Event.SubjectID, micros(r.endedAt()), string(r.Outcome.Reason)}
	}, func(sql dialect) string {
		return `INSERT INTO endpoints (user_id, url, origin, subject_id, used_at, disabled_at, reason)
			SELECT s.user_id, s.webhook_url, s.origin, s.id, s.created_at, r.disabled_at, r.reason FROM r, subjects s
			WHERE s.id = r.subject_id AND s.user_id = ` + liveUser(sql, "s.user_id") + ` AND ` + sql.locked("r.subject_id") + `
			ON CONFLICT (user_id, url) DO UPDATE SET disabled_at = COALESCE(endpoints.disabled_at, excluded.disabled_at),
				reason = CASE WHEN endpoints.disabled_at IS NULL THEN excluded.reason ELSE endpoints.reason END`
	})
)

const endpointColumns = `user_id text, url text, origin text, subject_id text, used_at bigint`

// addEndpoints returns the statements that insert the URLs of new subjects.
func addEndpoints(sql dialect, group []*creation) []statement {
	with := slices.DeleteFunc(slices.Clone(group), func(c *creation) bool { return c.subject.WebhookURL == "" })
	slices.SortFunc(with, func(a, b *creation) int {
		return strings.Compare(a.subject.UserID+" "+a.subject.WebhookURL, b.subject.UserID+" "+b.subject.WebhookURL)
	})
	return insertEndpoints.with(sql, with...)
}

// disableEndpoints returns the statements for those attempts that disable a URL.
func disableEndpoints(sql dialect, attempts ...*MadeAttempt) []statement {
	on := func(r *MadeAttempt) bool { return !r.Outcome.DisableURL }
	return disableEndpoint.with(sql, slices.DeleteFunc(slices.Clone(attempts), on)...)
}
