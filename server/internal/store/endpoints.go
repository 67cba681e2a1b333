package store

import (
	"context"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Endpoint is a URL that is switched off for a user. Events for it end as exhausted when they are due. They
// can be replayed after the endpoint is enabled. A new registration of the URL does not enable it, because
// the receiver responded with 410.
type Endpoint struct {
	UserID     string
	Email      string // of the user
	URL        string // its query may hold a secret
	Origin     string
	DisabledAt time.Time
	Reason     studio.Reason
}

// Endpoints returns the endpoints that are switched off, the most recent first.
func (s *Store) Endpoints(ctx context.Context) ([]Endpoint, error) {
	return queryRows(ctx, s.engine, func(e *Endpoint) []any {
		return []any{&e.UserID, &e.Email, &e.URL, &e.Origin, instant{&e.DisabledAt}, &e.Reason}
	}, `SELECT p.user_id, u.email, p.url, p.origin, p.disabled_at, p.reason FROM endpoints p
		JOIN users u ON u.id = p.user_id ORDER BY p.disabled_at DESC, p.user_id, p.url`)
}

// EnableEndpoint switches a URL on again for a user. It returns studio.ErrNotFound if the URL is not
// switched off.
func (s *Store) EnableEndpoint(ctx context.Context, userID, url string) error {
	return s.execFound(ctx, `DELETE FROM endpoints WHERE user_id = $1 AND url = $2`, userID, url)
}
