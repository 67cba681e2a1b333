package deliver

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// alertAfter is how long a URL fails before its user is alerted.
	alertAfter = 24 * time.Hour
	// maxDisabledAge is shorter than the store remembers alerts, so that no alert about a disabled URL is repeated.
	maxDisabledAge = 36 * time.Hour
	// alertCheckInterval is how often the URLs are looked for whose check is due. alertCheckDelay is the time until the
	// first check of a URL that fails, or until another one after an error. Most failures have passed by then.
	alertCheckInterval = 5 * time.Second
	alertCheckDelay    = 10 * time.Minute
	// maxWatched bounds the URLs in memory. A URL that finds no room is watched from a later failure on.
	maxWatched = 10_000
)

// Alert is what the owner of a webhook URL is told about it, with either FailingSince or DisabledAt.
type Alert struct {
	Email                    string // of the owner
	URL                      string // its query may hold a secret
	FailingSince, DisabledAt time.Time
}

// watchedURL is a webhook URL of a user.
type watchedURL struct{ userID, url string }

// alerter remembers the URLs that failed here, and when each is checked. It is safe for concurrent use.
type alerter struct {
	mu      sync.Mutex
	checkAt map[watchedURL]time.Time
}

// check schedules a check of a URL. One that is scheduled stays, unless replace is set.
func (a *alerter) check(url watchedURL, at time.Time, replace bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.checkAt[url]; ok && !replace || !ok && len(a.checkAt) >= maxWatched {
		return
	}
	if a.checkAt == nil {
		a.checkAt = make(map[watchedURL]time.Time)
	}
	a.checkAt[url] = at
}

// takeDue removes and returns the URLs whose check is due.
func (a *alerter) takeDue(now time.Time) (due []watchedURL) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for url, at := range a.checkAt {
		if !at.After(now) {
			due = append(due, url)
			delete(a.checkAt, url)
		}
	}
	return due
}

// attemptFailed schedules a check of the URL of a failed attempt.
func (d *Deliverer) attemptFailed(next store.Delivery, disabled bool) {
	if d.Alert == nil {
		return
	}
	at := d.Now()
	if !disabled {
		at = at.Add(alertCheckDelay)
	}
	d.alerts.check(watchedURL{next.UserID, next.URL}, at, disabled)
}

// alert alerts users until stop ends. It begins with the URLs that were disabled before this process started.
func (d *Deliverer) alert(stop context.Context) {
	if d.Alert == nil {
		return
	}
	disabled, err := d.Store.DisabledEndpoints(stop)
	d.faults.Error(stop, alertWork, err)
	for _, e := range disabled {
		if d.Now().Sub(e.DisabledAt) < maxDisabledAge {
			d.alerts.check(watchedURL{e.UserID, e.URL}, d.Now(), true)
		}
	}
	for stop.Err() == nil {
		for _, url := range d.alerts.takeDue(d.Now()) {
			again, err := d.alertOwner(stop, url)
			if err != nil {
				d.faults.Error(stop, alertWork, err)
				again = d.Now().Add(alertCheckDelay)
			}
			if !again.IsZero() {
				d.alerts.check(url, again, false)
			}
		}
		studio.Pause(stop, alertCheckInterval)
	}
}

// alertOwner alerts the owner of a URL that is disabled or has failed for alertAfter. It returns when the URL is
// checked again, or the zero time if that is not before its next failure.
func (d *Deliverer) alertOwner(ctx context.Context, url watchedURL) (again time.Time, err error) {
	e, err := d.Store.Endpoint(ctx, url.userID, url.url)
	if errors.Is(err, studio.ErrNotFound) {
		return time.Time{}, nil
	} else if err != nil {
		return time.Time{}, err
	}
	now := d.Now()
	alert := Alert{URL: url.url}
	switch failsSince := e.FailingSince; {
	case !e.PausedAt.IsZero():
		return time.Time{}, nil
	case !e.DisabledAt.IsZero():
		if now.Sub(e.DisabledAt) > maxDisabledAge {
			return time.Time{}, nil
		}
		alert.DisabledAt = e.DisabledAt
	case e.Last.Failure == "" || failsSince.IsZero():
		return time.Time{}, nil
	case now.Sub(failsSince) < alertAfter:
		return failsSince.Add(alertAfter), nil
	case e.Waiting == 0 && now.Sub(e.Last.At) > alertAfter: // nothing is sent any more
		return time.Time{}, nil
	default:
		alert.FailingSince = failsSince
	}
	alert.Email, err = d.Store.ClaimAlert(ctx, url.userID, url.url, now, alert.DisabledAt)
	if err != nil || alert.Email == "" {
		return now.Add(store.AlertInterval), err
	}
	if err := d.Alert(ctx, alert); err != nil { // which it has counted or logged
		return now.Add(alertCheckDelay), d.Store.ReleaseAlert(context.WithoutCancel(ctx), url.userID, url.url, now)
	}
	if !alert.DisabledAt.IsZero() {
		return time.Time{}, nil
	}
	return now.Add(store.AlertInterval), nil
}
