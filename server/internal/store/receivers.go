package store

import (
	"context"
	"errors"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Receiver is a URL that notifications of a user's go to.
type Receiver struct {
	SubjectID  string // a subject whose notifications go there
	URL        string // its query may hold a secret
	DisabledAt time.Time
	Reason     Reason    // why nothing is sent there any more; "" when something is
	OpenUntil  time.Time // of the circuit breaker of its origin; zero when it is closed
}

// Receivers returns up to limit URLs that notifications of a user's go to, in their order, that come
// after that of a subject; "" starts at the first.
func (s *Store) Receivers(ctx context.Context, userID, after string, limit int) (all []Receiver, err error) {
	last := ""
	if after != "" {
		err := one(ctx, s.engine, []any{&last}, `SELECT webhook_url FROM subjects WHERE id = $1 AND user_id = $2`, after, userID)
		if errors.Is(err, studio.ErrNotFound) {
			err = studio.ErrCursor
		}
		if err != nil {
			return nil, err
		}
	}
	for len(all) < limit { // each by itself, because a user has many subjects of one URL
		var r Receiver
		err := one(ctx, s.engine, []any{&r.SubjectID, &r.URL, instant{&r.DisabledAt}, &r.Reason, instant{&r.OpenUntil}},
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
