package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// An attempt that cannot be recorded is tried again after these pauses, and for as long as
// lastRecordTimeout when the work is cut off.
const (
	minRecordPause    = time.Second
	maxRecordPause    = time.Minute
	lastRecordTimeout = 2 * time.Second
)

// Deliver sends the events of a subject that are due, in order, until none is left, one has to
// wait, or stop ends. It returns when to call it again: at the zero time when nothing is left. Each
// event that waits for the limits of its origin gets a time of its own, so that they do not all
// come at once. When ctx ends during an attempt, the attempt counts for nothing.
func (j *Jobs) Deliver(ctx, stop context.Context, subjectID string) (again time.Time, err error) {
	again, _, err = j.deliver(ctx, stop, subjectID, "", 0)
	return again, err
}

// deliver is Deliver after the origin admitted has admitted the first attempt, if it is not "". It
// reports whether the job with this number, if it is not 0, has ended with the last attempt.
func (j *Jobs) deliver(
	ctx, stop context.Context, subjectID, admitted string, job int64,
) (again time.Time, settled bool, err error) {
	defer func() {
		if admitted != "" {
			j.origins.done(admitted, unknown) // it was not needed
		}
	}()
	for first := true; stop.Err() == nil && !settled; first = false {
		next, err := j.Store.NextDelivery(ctx, subjectID)
		switch {
		case errors.Is(err, studio.ErrNotFound) && first:
			return time.Time{}, false, j.repair(ctx, subjectID)
		case errors.Is(err, studio.ErrNotFound):
			return time.Time{}, false, nil
		case err != nil:
			return j.Now(), false, err
		case next.DueAt.After(j.Now()):
			return next.DueAt, false, nil
		case next.Off:
			if err := j.Store.GiveUp(ctx, subjectID, j.Now(), store.ReasonOff); err != nil {
				return j.Now(), false, err
			}
			j.Logger.InfoContext(ctx, "events given up", "subject", subjectID, "reason", string(store.ReasonOff))
			continue
		}
		if admitted == "" {
			if ok, at := j.origins.admitWithin(stop, next.Origin, j.patience); !ok {
				return at, false, nil
			}
			admitted = next.Origin
		}
		secrets, err := j.secrets(ctx, next.UserID)
		if err != nil {
			return j.Now(), false, err
		}
		if stop.Err() != nil { // meanwhile
			break
		}
		admitted = ""
		if settled, err = j.attempt(ctx, next, secrets, job); err != nil {
			return j.Now(), false, err
		}
	}
	return j.Now(), settled, nil
}

// repair makes a subject that has no pending event due no more, or it would be looked at for ever.
func (j *Jobs) repair(ctx context.Context, subjectID string) error {
	repaired, err := j.Store.RepairSubject(ctx, subjectID)
	if repaired {
		j.Logger.ErrorContext(ctx, "a subject was due that has no event", "subject", subjectID)
	}
	return err
}

// repairAll is repair for every subject, at the start.
func (j *Jobs) repairAll(stop context.Context) {
	repaired, err := j.Store.Repair(stop)
	j.report(stop, "repair", err)
	for _, id := range repaired {
		j.Logger.ErrorContext(stop, "a subject was due at another time than its first event", "subject", id)
	}
}

// attempt sends an event that its origin has admitted, and records what came of it.
func (j *Jobs) attempt(
	ctx context.Context, next store.Delivery, secrets []webhook.Secret, job int64,
) (settled bool, err error) {
	sent := j.Sender.Send(ctx, sender.Message{
		URL: next.URL, ID: next.Event.ID, Sequence: next.Event.Sequence, Body: next.Event.Body, Secrets: secrets,
	})
	j.judgeOrigin(ctx, next.Origin, sent)
	if ctx.Err() != nil && !sent.Delivered() {
		return false, ctx.Err()
	}
	tries := next.Tries + 1
	outcome, wait := judge(tries, sent)
	outcome.Job, outcome.RetryAt = job, sent.At.Add(sent.Duration+wait)
	settled, err = j.record(ctx, next.Event, store.Attempt{
		At: sent.At, Duration: sent.Duration, Address: sent.Address,
		Status: sent.Status, Failure: string(sent.Failure), Excerpt: sent.Excerpt,
	}, outcome)
	if err != nil {
		return false, err
	}
	j.Logger.InfoContext(ctx, "delivery attempted", "event", next.Event.ID, "subject", next.Event.SubjectID,
		"sequence", next.Event.Sequence, "try", tries, "state", string(outcome.State), "status", sent.Status,
		"failure", string(sent.Failure), "duration", sent.Duration)
	if outcome.SwitchOff {
		j.Logger.WarnContext(ctx, "endpoint switched off", "user", next.UserID, "origin", next.Origin)
	}
	return settled, nil
}

// judgeOrigin ends an attempt for its origin.
func (j *Jobs) judgeOrigin(ctx context.Context, origin string, sent sender.Attempt) {
	opened, closed := j.origins.done(origin, judgeOrigin(sent))
	if opened > 0 {
		j.Logger.WarnContext(ctx, "origin is failing", "origin", origin, "pause", opened)
	}
	if closed {
		j.Logger.InfoContext(ctx, "origin recovers", "origin", origin)
	}
}

// record writes an attempt, which has happened and must not be repeated because the database is
// full or busy: it tries until it can, or until ctx has ended, and then once more for a while.
func (j *Jobs) record(
	ctx context.Context, event studio.Event, attempt store.Attempt, outcome store.Outcome,
) (settled bool, err error) {
	for wait := minRecordPause; ctx.Err() == nil; wait = min(2*wait, maxRecordPause) {
		settled, err := j.Store.RecordAttempt(ctx, event, attempt, outcome)
		if err == nil {
			return settled, nil
		}
		if ctx.Err() == nil {
			j.Logger.ErrorContext(ctx, "attempt not recorded", "event", event.ID, "err", err)
			pause(ctx, wait)
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastRecordTimeout)
	defer cancel()
	return j.Store.RecordAttempt(last, event, attempt, outcome)
}

func (j *Jobs) secrets(ctx context.Context, userID string) ([]webhook.Secret, error) {
	texts, err := j.Studio.WebhookSecrets(ctx, userID)
	if err != nil {
		return nil, err
	}
	secrets := make([]webhook.Secret, len(texts))
	for i, text := range texts {
		if secrets[i], err = webhook.ParseSecret(text); err != nil {
			return nil, err
		}
	}
	return secrets, nil
}
