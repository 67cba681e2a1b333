package store

import (
	"context"
	"errors"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Receiver is a webhook URL of a user and its state.
type Receiver struct {
	SubjectID  string // a subject whose events are sent to the URL
	URL        string // its query may hold a secret
	DisabledAt time.Time
	Reason     Reason    // why the URL is switched off; "" if it is not
	OpenUntil  time.Time // when the circuit breaker of the origin allows a probe, which may be past; zero if the breaker is closed
}

// Receivers returns up to limit webhook URLs of a user, each once, ordered by URL. It starts after the URL of
// the subject with the ID after, or at the first URL if after is "". It returns studio.ErrCursor if there is
// no such subject.
func (s *Store) Receivers(ctx context.Context, userID, after string, limit int) (all []Receiver, err error) {
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
	for len(all) < limit { // one query for each URL, because a user may have many subjects with one URL
		var r Receiver
		err := queryRow(ctx, s.engine, []any{&r.SubjectID, &r.URL, instant{&r.DisabledAt}, &r.Reason, instant{&r.OpenUntil}},
			`SELECT s.id, s.webhook_url, p.disabled_at, COALESCE(p.reason, ''), b.until FROM subjects s
			LEFT JOIN endpoints p ON p.user_id = s.user_id AND p.url = s.webhook_url LEFT JOIN breakers b ON b.origin = s.origin
			WHERE s.user_id = $1 AND s.webhook_url > $2 AND s.webhook_url <> '' ORDER BY s.webhook_url LIMIT 1`, userID, last)
		if errors.Is(err, studio.ErrNotFound) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all, last = append(all, r), r.URL
	}
	return all, nil
}
