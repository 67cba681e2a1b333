package store

import (
	"context"
	"time"
)

// AlertInterval is the least time between two alerts of a user about a URL.
const AlertInterval = 24 * time.Hour

// maxAlerts is how many alerts a user gets within AlertInterval. A user may have thousands of URLs that all fail.
const maxAlerts = 10

// alertRetention is how long alerts are kept. An endpoint that was disabled longer ago causes no alert.
const alertRetention = 2 * AlertInterval

// ClaimAlert returns the email of a user who is to be alerted about a webhook URL now, or "" if the user was alerted
// within [AlertInterval], or since the URL was disabled, or about ten other URLs, or cannot log in. Of concurrent
// calls, also by several processes, one gets the email. disabledAt is zero for a URL that is not disabled.
func (s *Store) ClaimAlert(ctx context.Context, userID, url string, now, disabledAt time.Time) (email string, err error) {
	latest := now.Add(-AlertInterval)
	if !disabledAt.IsZero() && disabledAt.Before(latest) {
		latest = disabledAt.Add(-time.Microsecond) // an alert at the same time was about it
	}
	err = s.write(ctx, func(tx transaction) error {
		email = ""
		claimed, err := tx.exec(ctx, `INSERT INTO alerts (user_id, url, sent_at)
			SELECT id, $2, $3 FROM users WHERE id = $1 AND deleted_at IS NULL AND disabled_at IS NULL
				AND (SELECT COUNT(*) FROM alerts WHERE user_id = $1 AND sent_at > $5) < $6`+tx.keyShare()+`
			ON CONFLICT (user_id, url) DO UPDATE SET sent_at = excluded.sent_at WHERE alerts.sent_at <= $4`,
			userID, url, micros(now), micros(latest), micros(now.Add(-AlertInterval)), maxAlerts)
		if err != nil || claimed == 0 {
			return err
		}
		return queryRow(ctx, tx, []any{&email}, `SELECT email FROM users WHERE id = $1`, userID)
	})
	return email, err
}

// ReleaseAlert takes back what ClaimAlert returned at the time now, because the alert could not be sent.
func (s *Store) ReleaseAlert(ctx context.Context, userID, url string, now time.Time) error {
	return s.exec(ctx, `DELETE FROM alerts WHERE user_id = $1 AND url = $2 AND sent_at = $3`, userID, url, micros(now))
}
