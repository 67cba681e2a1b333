package store

import (
	"context"
	"errors"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// maxEndpointEvents bounds the rows that are read to count the events of endpoints: the waiting subjects of each origin, and
// the newest exhausted events of the user.
const maxEndpointEvents = 10_000

// DisabledEndpoint is a URL that is disabled for a user. Events for it end as exhausted when they are due. They
// can be replayed after the endpoint is enabled. A new registration of the URL does not enable it, because
// the receiver responded with 410.
type DisabledEndpoint struct {
	UserID     string
	Email      string // of the user
	URL        string // its query may hold a secret
	Origin     string
	DisabledAt time.Time
	Reason     studio.Reason
}

// DisabledEndpoints returns the endpoints of all users that are disabled, the most recent first.
func (s *Store) DisabledEndpoints(ctx context.Context) ([]DisabledEndpoint, error) {
	return queryRows(ctx, s.engine, func(e *DisabledEndpoint) []any {
		return []any{&e.UserID, &e.Email, &e.URL, &e.Origin, instant{&e.DisabledAt}, &e.Reason}
	}, `SELECT p.user_id, u.email, p.url, p.origin, p.disabled_at, p.reason FROM endpoints p
		JOIN users u ON u.id = p.user_id ORDER BY p.disabled_at DESC, p.user_id, p.url`)
}

func (s *Store) PauseEndpoint(ctx context.Context, userID, url string, now time.Time) error {
	_, err := s.Pause(ctx, PauseScope{UserID: userID, URL: url, ByUser: true}, now)
	return err
}

func (s *Store) EnableEndpoint(ctx context.Context, userID, url string) error {
	return s.write(ctx, func(tx transaction) error {
		_, err := tx.exec(ctx, `DELETE FROM endpoints WHERE user_id = $1 AND url = $2`, userID, url)
		if err == nil {
			err = resume(ctx, tx, PauseScope{UserID: userID, URL: url, ByUser: true})
		}
		if errors.Is(err, studio.ErrNotFound) { // it was not paused
			err = nil
		}
		return err
	})
}

func (s *Store) EndpointURLs(ctx context.Context, userID, after string, limit int) ([]string, error) {
	return queryRows(ctx, s.engine, oneColumn[string], urlsFrom(">")+` SELECT url FROM urls WHERE url IS NOT NULL ORDER BY url`, userID, after, limit)
}

func (s *Store) Endpoints(ctx context.Context, userID, after string, limit int) (page []studio.Endpoint, more bool, err error) {
	return s.endpointsAfter(ctx, urlsFrom(">"), userID, after, limit)
}

// AllEndpoints is Endpoints for all users. The endpoints are ordered by the ID of the user and the URL.
func (s *Store) AllEndpoints(ctx context.Context, after string, limit int) (page []studio.Endpoint, more bool, err error) {
	return s.endpointsAfter(ctx, urlsOfAll, "", after, limit)
}

// endpointsAfter returns the page of endpoints after that of a subject, of all users if userID is "".
func (s *Store) endpointsAfter(ctx context.Context, urls, userID, after string, limit int) (page []studio.Endpoint, more bool, err error) {
	last := ""
	if after != "" {
		err := queryRow(ctx, s.engine, []any{&userID, &last},
			`SELECT user_id, webhook_url FROM subjects WHERE id = $1 AND $2 IN ('', user_id)`, after, userID)
		if errors.Is(err, studio.ErrNotFound) {
			err = studio.ErrCursor
		}
		if err != nil {
			return nil, false, err
		}
	}
	page, err = s.endpoints(ctx, urls, userID, last, limit+1)
	more = len(page) > limit
	return page[:min(limit, len(page))], more, err
}

// TroubledEndpoints returns up to limit endpoints of all users whose events fail, which are disabled or paused, or which have
// exhausted events, in this order. Of the waiting and the exhausted events, it reads up to 10,000 each.
func (s *Store) TroubledEndpoints(ctx context.Context, limit int) ([]studio.Endpoint, error) {
	return s.endpoints(ctx, troubledURLs, limit, maxEndpointEvents)
}

func (s *Store) Endpoint(ctx context.Context, userID, url string) (studio.Endpoint, error) {
	page, err := s.endpoints(ctx, urlsFrom(">="), userID, url, 1)
	if err == nil && (len(page) == 0 || page[0].URL != url) {
		err = studio.ErrNotFound
	}
	if err != nil {
		return studio.Endpoint{}, err
	}
	return page[0], nil
}

// endpoints returns the endpoints with the URLs of urls, the beginning of a query.
func (s *Store) endpoints(ctx context.Context, urls string, args ...any) ([]studio.Endpoint, error) {
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
	}, urls+endpointsQuery, args...)
	if err == nil {
		err = s.countEvents(ctx, found)
	}
	return found, err
}

// urlsFrom begins a query with urls, up to $3 URLs of the user $1 that are greater than $2, or also $2 if operator is ">=", in
// order. It steps through an index from URL to URL, because a user may have many subjects with one URL.
func urlsFrom(operator string) string {
	return `WITH RECURSIVE urls(user_id, url, n) AS (
		SELECT CAST($1 AS TEXT), MIN(webhook_url), 1 FROM subjects WHERE user_id = $1 AND webhook_url ` + operator + ` $2 AND webhook_url <> ''
		UNION ALL
		SELECT user_id, (SELECT MIN(webhook_url) FROM subjects WHERE user_id = $1 AND webhook_url > urls.url AND webhook_url <> ''), n + 1
		FROM urls WHERE url IS NOT NULL AND n < $3
	)`
}

const (
	nextURL = `(SELECT MIN(webhook_url) FROM subjects WHERE user_id = urls.user_id AND webhook_url > urls.url AND webhook_url <> '')`
	// urlsOfAll is urlsFrom for all users, after the URL $2 of the user $1. Before the URLs of each user is a step without one.
	urlsOfAll = `WITH RECURSIVE urls(user_id, url, n) AS (
		SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), 0
		UNION ALL
		SELECT CASE WHEN ` + nextURL + ` IS NULL THEN (SELECT MIN(user_id) FROM subjects WHERE user_id > urls.user_id AND webhook_url <> '')
				ELSE user_id END, COALESCE(` + nextURL + `, ''), n + CASE WHEN ` + nextURL + ` IS NULL THEN 0 ELSE 1 END
		FROM urls WHERE user_id IS NOT NULL AND n < $3
	)`
	// troubledURLs begins a query with urls, the first $1 URLs with trouble, of up to $2 events of each kind.
	troubledURLs = `WITH RECURSIVE urls(user_id, url, n) AS (
		SELECT user_id, url, 1 FROM (
			SELECT 1 AS trouble, d.user_id, d.url FROM (SELECT * FROM deliveries LIMIT $2 + 0) d
				JOIN events e ON e.subject_id = d.subject_id AND e.sequence = d.sequence AND e.last_failure <> ''
			UNION ALL SELECT 2, user_id, url FROM endpoints
			UNION ALL SELECT 3, user_id, url FROM pauses WHERE user_id <> '' AND url <> ''
			UNION ALL SELECT 4, s.user_id, s.webhook_url FROM (SELECT subject_id FROM events WHERE reason <> '' AND reason <> 'deleted'
				ORDER BY created_at DESC LIMIT $2 + 0) e JOIN subjects s ON s.id = e.subject_id
		) troubles GROUP BY user_id, url ORDER BY MIN(trouble), user_id, url LIMIT $1 + 0
	)`
)

// endpointsQuery steps from subject to subject of each URL, up to the sixteenth. It asks for the results of attempts, because
// a replayed event is pending again after its delivery.
const endpointsQuery = `, newest(user_id, url, id, n) AS (
		SELECT user_id, url, (SELECT MAX(id) FROM subjects WHERE user_id = urls.user_id AND webhook_url = urls.url AND webhook_url <> ''), 1
		FROM urls WHERE url <> '' AND n > 0
		UNION ALL
		SELECT user_id, url, (SELECT MAX(id) FROM subjects
			WHERE user_id = newest.user_id AND webhook_url = newest.url AND webhook_url <> '' AND id < newest.id), n + 1
		FROM newest WHERE id IS NOT NULL AND n < 16
	), attempted AS (
		SELECT newest.user_id AS owner, newest.url, e.*, ROW_NUMBER() OVER (PARTITION BY newest.user_id, newest.url ORDER BY e.last_at DESC) AS recency,
			MAX(CASE WHEN e.last_failure = '' THEN e.last_at + e.last_duration
				ELSE (SELECT MAX(a.at + a.duration) FROM attempts a WHERE a.event_id = e.id AND a.failure = '') END)
				OVER (PARTITION BY newest.user_id, newest.url) AS success
		FROM newest JOIN events e ON e.subject_id = newest.id WHERE e.last_number > 0
	)
	SELECT newest.id, newest.user_id, COALESCE((SELECT email FROM users WHERE id = newest.user_id), ''), newest.url,
		p.disabled_at, COALESCE(p.reason, ''), b.until,
		(SELECT MIN(q.paused_at) FROM pauses q WHERE q.user_id IN ('', newest.user_id) AND q.url IN ('', newest.url)), e.success,
		(SELECT MIN(COALESCE((SELECT MIN(a.at) FROM attempts a WHERE a.event_id = f.id AND a.at > COALESCE(e.success, 0)), f.last_at)) FROM attempted f
			WHERE f.owner = newest.user_id AND f.url = newest.url AND f.last_failure <> '' AND f.last_at > COALESCE(e.success, 0)), ` + lastAttemptColumns + `
	FROM newest LEFT JOIN endpoints p ON p.user_id = newest.user_id AND p.url = newest.url
		LEFT JOIN breakers b ON b.origin = (SELECT origin FROM subjects WHERE id = newest.id)
		LEFT JOIN attempted e ON e.owner = newest.user_id AND e.url = newest.url AND e.recency = 1
	WHERE newest.n = 1 AND newest.id IS NOT NULL ORDER BY newest.user_id, newest.url`

// endpointQuery asks for the events of a user, or of an origin or URL of a user.
type endpointQuery struct {
	userID, value, oldest string
}

// waitingOfOrigins, successesBefore and exhaustedOfUsers are the statements about the events of endpoints.
//
//nolint:gochecknoglobals // constants
var (
	// waitingOfOrigins counts the pending events of the URLs of origins, with the oldest subject of which an attempt failed.
	waitingOfOrigins = newRowStatement(`user_id text, origin text, most int`, func(q endpointQuery) []any {
		return []any{q.userID, q.value, maxEndpointEvents}
	}, func(sql dialect, _ []string) string {
		return `SELECT d.user_id, d.url, COUNT(*), COALESCE(MIN(CASE WHEN e.last_failure <> '' THEN d.subject_id END), ''),
				MIN(CASE WHEN e.last_failure <> ''
					THEN COALESCE((SELECT MIN(a.at) FROM attempts a WHERE a.event_id = e.id AND a.failure <> ''), e.last_at) END)
			FROM r, LATERAL (SELECT * FROM deliveries WHERE user_id = r.user_id AND origin = r.origin ORDER BY due_at LIMIT r.most + 0) d
			JOIN events e ON e.subject_id = d.subject_id AND e.sequence >= d.sequence AND e.state = 'pending' GROUP BY d.user_id, d.url`
	})
	// successesBefore finds the last delivery to a URL for the subjects before the oldest one of which an attempt failed.
	successesBefore = newRowStatement(`user_id text, url text, oldest text`, func(q endpointQuery) []any {
		return []any{q.userID, q.value, q.oldest}
	}, func(sql dialect, _ []string) string {
		return `SELECT s.user_id, s.webhook_url, MAX(e.ended_at) FROM r, LATERAL (SELECT id, user_id, webhook_url FROM subjects WHERE user_id = r.user_id
				AND webhook_url = r.url AND webhook_url <> '' AND id < r.oldest ORDER BY id DESC LIMIT 16) s
			JOIN events e ON e.subject_id = s.id AND e.state = 'delivered' GROUP BY s.user_id, s.webhook_url`
	})
	// exhaustedOfUsers counts the newest exhausted events of the URLs of users.
	exhaustedOfUsers = newRowStatement(`user_id text, most int`, func(q endpointQuery) []any {
		return []any{q.userID, maxEndpointEvents}
	}, func(sql dialect, _ []string) string {
		return `SELECT s.user_id, s.webhook_url, COUNT(*) FROM r, LATERAL (SELECT subject_id FROM events WHERE user_id = r.user_id
				AND reason <> '' AND reason <> 'deleted' ORDER BY created_at DESC LIMIT r.most + 0) e
			JOIN subjects s ON s.id = e.subject_id GROUP BY s.user_id, s.webhook_url`
	})
)

// countEvents sets the counts of endpoints, and what follows from their pending events: an endpoint may have failed for longer
// than its newest subjects exist.
func (s *Store) countEvents(ctx context.Context, page []studio.Endpoint) error {
	type key struct{ userID, value string }
	byURL := make(map[key]*studio.Endpoint, len(page))
	asked := make(map[key]bool) // users, and their origins
	var users, waiting, failing []endpointQuery
	for i, e := range page {
		byURL[key{e.UserID, e.URL}] = &page[i]
		if user := (key{userID: e.UserID}); !asked[user] {
			asked[user] = true
			users = append(users, endpointQuery{userID: e.UserID})
		}
		if origin := (key{e.UserID, studio.Origin(e.URL)}); !asked[origin] {
			asked[origin] = true
			waiting = append(waiting, endpointQuery{userID: e.UserID, value: origin.value})
		}
	}
	var of key
	err := s.engine.queryAll(ctx, func(scan func(...any) error) error {
		var oldest string
		var count int64
		var since time.Time
		err := scan(&of.userID, &of.value, &count, &oldest, instant{&since})
		if e := byURL[of]; e != nil {
			e.Waiting = count
			if e.Last.Failure != "" && oldest != "" && since.After(e.LastSuccessAt) {
				if e.FailingSince.IsZero() || since.Before(e.FailingSince) {
					e.FailingSince = since
				}
				failing = append(failing, endpointQuery{e.UserID, e.URL, oldest})
			}
		}
		return err
	}, waitingOfOrigins.with(s.engine, waiting...))
	if err == nil {
		err = s.engine.queryAll(ctx, func(scan func(...any) error) error {
			var at time.Time
			err := scan(&of.userID, &of.value, instant{&at})
			if e := byURL[of]; e != nil && at.After(e.LastSuccessAt) {
				e.LastSuccessAt = at
			}
			return err
		}, successesBefore.with(s.engine, failing...))
	}
	if err == nil {
		err = s.engine.queryAll(ctx, func(scan func(...any) error) error {
			var count int64
			err := scan(&of.userID, &of.value, &count)
			if e := byURL[of]; e != nil {
				e.Exhausted = count
			}
			return err
		}, exhaustedOfUsers.with(s.engine, users...))
	}
	return err
}
