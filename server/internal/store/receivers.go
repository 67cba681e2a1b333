package store

import (
	"context"
	"errors"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Receiver is a webhook URL of a user and its state.
type Receiver struct {
	SubjectID  string // the newest subject whose events are sent to the URL
	URL        string // its query may hold a secret
	DisabledAt time.Time
	Reason     studio.Reason  // why the URL is switched off; "" if it is not
	OpenUntil  time.Time      // when the circuit breaker of the origin allows a probe, which may be past; zero if the breaker is closed
	Last       studio.Attempt // the latest attempt for the 16 newest subjects with the URL, without its excerpt; zero if there is none
}

// Receivers returns up to limit webhook URLs of a user, each once, ordered by URL. It starts after the URL of
// the subject with the ID after, or at the first URL if after is "". It returns studio.ErrCursor if there is
// no such subject.
func (s *Store) Receivers(ctx context.Context, userID, after string, limit int) ([]Receiver, error) {
	last := ""
	if after != "" {
		err := queryRow(ctx, s.engine, []any{&last}, `SELECT webhook_url FROM subjects WHERE id = $1 AND user_id = $2`, after, userID)
		if errors.Is(err, studio.ErrNotFound) {
			err = studio.ErrCursor
		}
		if err != nil {
			return nil, err
		}
	}
	return queryRows(ctx, s.engine, func(r *Receiver) []any {
		return append([]any{&r.SubjectID, &r.URL, instant{&r.DisabledAt}, &r.Reason, instant{&r.OpenUntil}}, attemptDest(&r.Last)...)
	}, receiversQuery, userID, last, limit)
}

// receiversQuery steps through an index from URL to URL, and for each from subject to subject, because a user may have
// many subjects with one URL.
const receiversQuery = `WITH RECURSIVE urls(url, n) AS (
		SELECT MIN(webhook_url), 1 FROM subjects WHERE user_id = $1 AND webhook_url > $2 AND webhook_url <> ''
		UNION ALL
		SELECT (SELECT MIN(webhook_url) FROM subjects WHERE user_id = $1 AND webhook_url > urls.url AND webhook_url <> ''), n + 1
		FROM urls WHERE url IS NOT NULL AND n < $3
	), newest(url, id, n) AS (
		SELECT url, (SELECT MAX(id) FROM subjects WHERE user_id = $1 AND webhook_url = urls.url AND webhook_url <> ''), 1
		FROM urls WHERE url IS NOT NULL
		UNION ALL
		SELECT url, (SELECT MAX(id) FROM subjects WHERE user_id = $1 AND webhook_url = newest.url AND webhook_url <> '' AND id < newest.id), n + 1
		FROM newest WHERE id IS NOT NULL AND n < 16
	), attempted AS (
		SELECT newest.url, e.*, ROW_NUMBER() OVER (PARTITION BY newest.url ORDER BY e.last_at DESC) AS recency
		FROM newest JOIN events e ON e.subject_id = newest.id WHERE e.last_number > 0
	)
	SELECT newest.id, newest.url, p.disabled_at, COALESCE(p.reason, ''), b.until, ` + lastAttemptColumns + `
	FROM newest LEFT JOIN endpoints p ON p.user_id = $1 AND p.url = newest.url
		LEFT JOIN breakers b ON b.origin = (SELECT origin FROM subjects WHERE id = newest.id)
		LEFT JOIN attempted e ON e.url = newest.url AND e.recency = 1
	WHERE newest.n = 1 ORDER BY newest.url`
