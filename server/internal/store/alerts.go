package store

import (
	"context"
	"time"
)

const (
	// alertInterval is the least time between two alerts of a user about a URL, and how long a URL fails before the
	// first.
	alertInterval = 24 * time.Hour
	// maxAlerts is how many alerts a user gets within alertInterval. A user may have thousands of URLs that all fail.
	maxAlerts = 10
	// alertPause is when an alert is claimed again that could not be sent.
	alertPause = 10 * time.Minute
	// alertRetention is how long alerts are kept. maxDisabledAge is shorter, so that no alert about a disabled URL is
	// repeated.
	alertRetention = 2 * alertInterval
	maxDisabledAge = 36 * time.Hour
	// maxAttemptAge is longer than the pause between any two attempts for an event. If the last attempt is older,
	// nothing is sent to the URL any more.
	maxAttemptAge = 29 * time.Hour
)

// Alert is what the owner of a webhook URL is told about it, with either FailingSince or DisabledAt.
type Alert struct {
	UserID, Email            string // of the owner
	URL                      string // its query may hold a secret
	FailingSince, DisabledAt time.Time
}

// ClaimAlert returns an alert that is due at now: about a URL that has failed for a day, or that was disabled. A user
// is alerted once a day about a URL, once about a disabled one, and about ten URLs a day. A paused URL causes none,
// because its user knows. Of concurrent calls, also by several processes, one gets the alert. It returns
// studio.ErrNotFound if none is due.
func (s *Store) ClaimAlert(ctx context.Context, now time.Time) (a Alert, err error) {
	latest := now.Add(-alertInterval)
	err = queryRow(ctx, s.engine, []any{&a.UserID, &a.Email, &a.URL, instant{&a.FailingSince}, instant{&a.DisabledAt}}, `
		SELECT u.id, u.email, e.url, e.failing_since, e.disabled_at FROM (
			SELECT user_id, url, failing_since, NULL AS disabled_at FROM endpoints WHERE failing_since <= $1 AND last_at > $2 AND disabled_at IS NULL
			UNION ALL SELECT user_id, url, NULL, disabled_at FROM endpoints WHERE disabled_at > $3
		) e JOIN `+s.engine.lookup("users u", `u.id = e.user_id AND u.disabled_at IS NULL`)+`
		WHERE NOT EXISTS (SELECT 1 FROM pauses p WHERE p.user_id IN ('', e.user_id) AND p.url IN ('', e.url))
			AND NOT EXISTS (SELECT 1 FROM alerts a WHERE a.user_id = e.user_id AND a.url = e.url AND (a.sent_at > $1 OR a.sent_at >= e.disabled_at OR a.retry_at > $5))
			AND (SELECT COUNT(*) FROM alerts a WHERE a.user_id = e.user_id AND a.sent_at > $1) < $4 LIMIT 1`,
		micros(latest), micros(now.Add(-maxAttemptAge)), micros(now.Add(-maxDisabledAge)), maxAlerts, micros(now))
	if err != nil {
		return Alert{}, err
	}
	if !a.DisabledAt.IsZero() && a.DisabledAt.Before(latest) {
		latest = a.DisabledAt.Add(-time.Microsecond) // an alert at the same time was about it
	}
	return a, s.execFound(ctx, `INSERT INTO alerts (user_id, url, sent_at)
		SELECT id, $2, $3 FROM users WHERE id = $1 AND disabled_at IS NULL
			AND (SELECT COUNT(*) FROM alerts WHERE user_id = $1 AND sent_at > $5) < $6`+s.engine.keyShare()+`
		ON CONFLICT (user_id, url) DO UPDATE SET sent_at = $3, retry_at = 0 WHERE alerts.sent_at <= $4 AND alerts.retry_at <= $3`,
		a.UserID, a.URL, micros(now), micros(latest), micros(now.Add(-alertInterval)), maxAlerts)
}

// PostponeAlert makes an alert that ClaimAlert returned at now due again ten minutes later, because it could not be
// sent. So others are sent before it.
func (s *Store) PostponeAlert(ctx context.Context, a Alert, now time.Time) error {
	return s.exec(ctx, `UPDATE alerts SET sent_at = 0, retry_at = $4 WHERE user_id = $1 AND url = $2 AND sent_at = $3`,
		a.UserID, a.URL, micros(now), micros(now.Add(alertPause)))
}
