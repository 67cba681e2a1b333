package jobs

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/api/standardwebhooks"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// An attempt that cannot be recorded is tried again after these pauses, and for as long as
// lastRecordTimeout when the work is cut off.
const (
	minRecordPause    = time.Second
	maxRecordPause    = 5 * time.Second // which is how late what follows may come after an outage
	lastRecordTimeout = 2 * time.Second

	secretsLifetime = time.Second
	maxSecrets      = 10_000 // users
)

// work delivers an event, for as long as the lease holds, in the name of a holder. It returns when the
// subject has more to deliver, by the clock of the database; the zero time when it has not.
//
//nolint:contextcheck // what has happened is recorded even after the lease
func (d *deliverer) work(lease context.Context, holder string, l *line, next store.Delivery) (again time.Time) {
	judged := verdictNone
	admitted := true
	end := func() {
		if admitted {
			admitted = false
			d.call(func() { d.attempted(l, judged) })
		}
	}
	defer end()
	if next.Off {
		return d.giveUp(next)
	}
	secrets, err := d.jobs.secretsOf(lease, next.UserID)
	if err != nil || lease.Err() != nil || d.lapsed() || d.stop.Err() != nil {
		return d.failed(err)
	}
	sent := d.jobs.Sender.Send(lease, sender.Message{
		URL: next.URL, ID: next.Event.ID, Sequence: next.Event.Sequence, Body: next.Event.Body, Secrets: secrets,
	})
	if lease.Err() != nil && !sent.Delivered() {
		return d.databaseNow() // it counts for nothing
	}
	judged = judgeOrigin(sent)
	end()

	tries := next.Tries + 1
	outcome, wait := judge(tries, sent)
	outcome.RetryAt = d.databaseNow().Add(wait)
	again, err = d.jobs.record(d.ctx, holder, store.Record{Event: next.Event, Outcome: outcome, Attempt: store.Attempt{
		At: sent.At, Duration: sent.Duration, Address: sent.Address,
		Status: sent.Status, Failure: string(sent.Failure), Excerpt: sent.Excerpt,
	}})
	d.jobs.OnAttempt(outcomeOfAttempt(outcome.State), sent)
	if err != nil {
		return d.failed(err)
	}
	d.jobs.Logger.InfoContext(d.ctx, "delivery attempted", "event", next.Event.ID, "subject", next.Event.SubjectID,
		"sequence", next.Event.Sequence, "try", tries, "state", string(outcome.State), "status", sent.Status,
		"failure", string(sent.Failure), "duration", sent.Duration, "request_id", next.RequestID)
	if outcome.SwitchOff {
		d.jobs.Logger.WarnContext(d.ctx, "endpoint switched off", "user", next.UserID, "origin", next.Origin)
	}
	return again
}

// giveUp ends the events of a subject whose URL is switched off.
func (d *deliverer) giveUp(next store.Delivery) time.Time {
	err := d.jobs.Store.GiveUp(d.ctx, next.Event.SubjectID, d.databaseNow(), store.ReasonOff)
	if err != nil {
		return d.failed(err)
	}
	d.jobs.Logger.InfoContext(d.ctx, "events given up", "subject", next.Event.SubjectID, "reason", string(store.ReasonOff))
	return time.Time{}
}

// failed makes a subject wait for a while after an error.
func (d *deliverer) failed(err error) time.Time {
	if err == nil {
		return d.databaseNow()
	}
	d.jobs.report(d.ctx, store.Deliver, err)
	return d.databaseNow().Add(errorPause)
}

// repairAll is repair for every subject, at the start.
func (j *Jobs) repairAll(stop context.Context) {
	repaired, err := j.Store.Repair(stop)
	j.report(stop, "repair", err)
	for _, id := range repaired {
		j.Logger.ErrorContext(stop, "a subject was due at another time than its first event", "subject", id)
	}
}

// record stores an attempt. Sending the event again would duplicate it, so record retries until the
// database accepts it, or until ctx has ended, and then once more for a while. What another process
// has taken over meanwhile is its own to decide, but for the fact that the receiver has the event.
func (j *Jobs) record(ctx context.Context, holder string, r store.Record) (again time.Time, err error) {
	try := func(ctx context.Context) error {
		again, err = j.Store.Record(ctx, holder, r)
		if errors.Is(err, store.ErrNotHeld) {
			if holder = ""; r.Outcome.State != store.Delivered {
				r.Outcome = store.Outcome{State: store.Undecided}
			}
			again, err = j.Store.Record(ctx, holder, r)
		}
		return err
	}
	for wait := minRecordPause; ctx.Err() == nil; wait = min(2*wait, maxRecordPause) {
		if try(ctx) == nil {
			return again, nil
		}
		if ctx.Err() == nil {
			j.Logger.ErrorContext(ctx, "attempt not recorded", "event", r.Event.ID, "err", err)
			pause(ctx, wait)
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastRecordTimeout)
	defer cancel()
	err = try(last)
	return again, err
}

// secrets keeps the secrets of users for a moment: there are many events for each.
type secrets struct {
	mu    sync.Mutex
	users map[string]userSecrets
}

type userSecrets struct {
	secrets []standardwebhooks.Secret
	until   time.Time
}

// secretsOf returns the secrets that sign a user's events. A new one may take secretsLifetime until it
// signs; the one before it is still in force then.
func (j *Jobs) secretsOf(ctx context.Context, userID string) ([]standardwebhooks.Secret, error) {
	now := time.Now()
	j.secrets.mu.Lock()
	known := j.secrets.users[userID]
	if len(j.secrets.users) > maxSecrets {
		j.secrets.users = nil
	}
	j.secrets.mu.Unlock()
	if now.Before(known.until) {
		return known.secrets, nil
	}
	texts, err := j.Studio.WebhookSecrets(ctx, userID)
	if err != nil {
		return nil, err
	}
	known = userSecrets{make([]standardwebhooks.Secret, len(texts)), now.Add(secretsLifetime)}
	for i, text := range texts {
		if known.secrets[i], err = standardwebhooks.ParseSecret(text); err != nil {
			return nil, err
		}
	}
	j.secrets.mu.Lock()
	defer j.secrets.mu.Unlock()
	if j.secrets.users == nil {
		j.secrets.users = make(map[string]userSecrets)
	}
	j.secrets.users[userID] = known
	return known.secrets, nil
}
