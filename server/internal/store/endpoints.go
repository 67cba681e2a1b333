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

// DisabledEndpoint is a URL that is switched off for a user. Events for it end as exhausted when they are due. They
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

// DisabledEndpoints returns the endpoints of all users that are switched off, the most recent first.
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
	last := ""
	if after != "" {
		err := queryRow(ctx, s.engine, []any{&last}, `SELECT webhook_url FROM subjects WHERE id = $1 AND user_id = $2`, after, userID)
		if errors.Is(err, studio.ErrNotFound) {
			err = studio.ErrCursor
		}
		if err != nil {
			return nil, false, err
		}
	}
	page, err = s.endpoints(ctx, userID, ">", last, limit+1)
	if more = len(page) > limit; more {
		page = page[:limit]
	}
	if err == nil {
		err = s.countEvents(ctx, userID, page)
	}
	return page, more, err
}

func (s *Store) Endpoint(ctx context.Context, userID, url string) (studio.Endpoint, error) {
	page, err := s.endpoints(ctx, userID, ">=", url, 1)
	if err == nil && (len(page) == 0 || page[0].URL != url) {
		err = studio.ErrNotFound
	}
	if err == nil {
		err = s.countEvents(ctx, userID, page)
	}
	if err != nil {
		return studio.Endpoint{}, err
	}
	return page[0], nil
}

// endpoints returns up to limit endpoints whose URL is greater than first, or also first if operator is ">=".
func (s *Store) endpoints(ctx context.Context, userID, operator, first string, limit int) ([]studio.Endpoint, error) {
	return queryRows(ctx, s.engine, func(e *studio.Endpoint) []any {
		return append([]any{
			&e.SubjectID, &e.URL,
			instant{&e.DisabledAt},
			&e.DisabledReason,
			instant{&e.OpenUntil},
			instant{&e.PausedAt},
			instant{&e.LastSuccessAt},
			instant{&e.FailingSince},
		}, attemptDest(&e.Last)...)
	}, urlsFrom(operator)+endpointsQuery, userID, first, limit)
}

// urlsFrom begins a query with urls, the URLs of the user $1, in order. It steps through an index from URL to URL, because a
// user may have many subjects with one URL.
func urlsFrom(operator string) string {
	return `WITH RECURSIVE urls(url, n) AS (
		SELECT MIN(webhook_url), 1 FROM subjects WHERE user_id = $1 AND webhook_url ` + operator + ` $2 AND webhook_url <> ''
		UNION ALL
		SELECT (SELECT MIN(webhook_url) FROM subjects WHERE user_id = $1 AND webhook_url > urls.url AND webhook_url <> ''), n + 1
		FROM urls WHERE url IS NOT NULL AND n < $3
	)`
}

// endpointsQuery steps from subject to subject of each URL, up to the sixteenth. It asks for the results of attempts, because
// a replayed event is pending again after its delivery.
const endpointsQuery = `, newest(url, id, n) AS (
		SELECT url, (SELECT MAX(id) FROM subjects WHERE user_id = $1 AND webhook_url = urls.url AND webhook_url <> ''), 1
		FROM urls WHERE url IS NOT NULL
		UNION ALL
		SELECT url, (SELECT MAX(id) FROM subjects WHERE user_id = $1 AND webhook_url = newest.url AND webhook_url <> '' AND id < newest.id), n + 1
		FROM newest WHERE id IS NOT NULL AND n < 16
	), attempted AS (
		SELECT newest.url, e.*, ROW_NUMBER() OVER (PARTITION BY newest.url ORDER BY e.last_at DESC) AS recency,
			MAX(CASE WHEN e.last_failure = '' THEN e.last_at + e.last_duration
				ELSE (SELECT MAX(a.at + a.duration) FROM attempts a WHERE a.event_id = e.id AND a.failure = '') END)
				OVER (PARTITION BY newest.url) AS success
		FROM newest JOIN events e ON e.subject_id = newest.id WHERE e.last_number > 0
	)
	SELECT newest.id, newest.url, p.disabled_at, COALESCE(p.reason, ''), b.until,
		(SELECT MIN(q.paused_at) FROM pauses q WHERE q.user_id IN ('', $1) AND q.url IN ('', newest.url)), e.success,
		(SELECT MIN(COALESCE((SELECT MIN(a.at) FROM attempts a WHERE a.event_id = f.id AND a.at > COALESCE(e.success, 0)), f.last_at))
			FROM attempted f WHERE f.url = newest.url AND f.last_failure <> '' AND f.last_at > COALESCE(e.success, 0)), ` + lastAttemptColumns + `
	FROM newest LEFT JOIN endpoints p ON p.user_id = $1 AND p.url = newest.url
		LEFT JOIN breakers b ON b.origin = (SELECT origin FROM subjects WHERE id = newest.id)
		LEFT JOIN attempted e ON e.url = newest.url AND e.recency = 1
	WHERE newest.n = 1 ORDER BY newest.url`

// endpointQuery asks for the events of an origin or URL of a user.
type endpointQuery struct {
	userID, value, oldest string
}

// waitingOfOrigins and successesBefore are the statements about the events of endpoints.
//
//nolint:gochecknoglobals // constants
var (
	// waitingOfOrigins counts the pending events of the URLs of origins, with the oldest subject of which an attempt failed.
	waitingOfOrigins = newRowStatement(`user_id text, origin text, most int`, func(q endpointQuery) []any {
		return []any{q.userID, q.value, maxEndpointEvents}
	}, func(sql dialect, _ []string) string {
		return `SELECT d.url, COUNT(*), COALESCE(MIN(CASE WHEN e.last_failure <> '' THEN d.subject_id END), ''),
				MIN(CASE WHEN e.last_failure <> ''
					THEN COALESCE((SELECT MIN(a.at) FROM attempts a WHERE a.event_id = e.id AND a.failure <> ''), e.last_at) END)
			FROM r, LATERAL (SELECT * FROM deliveries WHERE user_id = r.user_id AND origin = r.origin ORDER BY due_at LIMIT r.most + 0) d
			JOIN events e ON e.subject_id = d.subject_id AND e.sequence >= d.sequence AND e.state = 'pending' GROUP BY d.url`
	})
	// successesBefore finds the last delivery to a URL for the subjects before the oldest one of which an attempt failed.
	successesBefore = newRowStatement(`user_id text, url text, oldest text`, func(q endpointQuery) []any {
		return []any{q.userID, q.value, q.oldest}
	}, func(sql dialect, _ []string) string {
		return `SELECT s.webhook_url, MAX(e.ended_at) FROM r, LATERAL (SELECT id, webhook_url FROM subjects WHERE user_id = r.user_id
				AND webhook_url = r.url AND webhook_url <> '' AND id < r.oldest ORDER BY id DESC LIMIT 16) s
			JOIN events e ON e.subject_id = s.id AND e.state = 'delivered' GROUP BY s.webhook_url`
	})
)

// countEvents sets the counts of endpoints, and what follows from their pending events: an endpoint may have failed for longer
// than its newest subjects exist.
func (s *Store) countEvents(ctx context.Context, userID string, page []studio.Endpoint) error {
	byURL := make(map[string]*studio.Endpoint, len(page))
	origins := make(map[string]bool)
	var waiting, failing []endpointQuery
	for i := range page {
		byURL[page[i].URL] = &page[i]
		if origin := studio.Origin(page[i].URL); !origins[origin] {
			origins[origin] = true
			waiting = append(waiting, endpointQuery{userID: userID, value: origin})
		}
	}
	if len(page) == 0 {
		return nil
	}
	err := s.engine.queryAll(ctx, func(scan func(...any) error) error {
		var url, oldest string
		var count int64
		var since time.Time
		err := scan(&url, &count, &oldest, instant{&since})
		if e := byURL[url]; e != nil {
			e.Waiting = count
			if e.Last.Failure != "" && oldest != "" && since.After(e.LastSuccessAt) {
				if e.FailingSince.IsZero() || since.Before(e.FailingSince) {
					e.FailingSince = since
				}
				failing = append(failing, endpointQuery{userID, url, oldest})
			}
		}
		return err
	}, waitingOfOrigins.with(s.engine, waiting...))
	if err != nil {
		return err
	}
	if len(failing) > 0 {
		err = s.engine.queryAll(ctx, func(scan func(...any) error) error {
			var url string
			var at time.Time
			err := scan(&url, instant{&at})
			if e := byURL[url]; at.After(e.LastSuccessAt) {
				e.LastSuccessAt = at
			}
			return err
		}, successesBefore.with(s.engine, failing...))
	}
	if err != nil {
		return err
	}
	return s.engine.query(ctx, func(scan func(...any) error) error {
		var url string
		var count int64
		err := scan(&url, &count)
		if e := byURL[url]; e != nil {
			e.Exhausted = count
		}
		return err
	}, `SELECT s.webhook_url, COUNT(*) FROM (SELECT subject_id FROM events WHERE user_id = $1 AND reason <> '' AND reason <> 'deleted'
		ORDER BY created_at DESC LIMIT $2 + 0) e JOIN subjects s ON s.id = e.subject_id GROUP BY s.webhook_url`, userID, maxEndpointEvents)
}
