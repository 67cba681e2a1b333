package deliver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/standardwebhooks"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/telemetry/tracing"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

const (
	// The secrets of up to maxCachedUsers users are cached for secretsLifetime.
	secretsLifetime = time.Second
	secretsTimeout  = 3 * time.Second
	maxCachedUsers  = 10_000
)

// deliver makes one attempt to deliver an event and records it with the fencing token of its lanes. It
// cancels the attempt when the lease context ends. It returns when the next event of the subject is due, by
// the clock of the database, or the zero time if no event is pending.
//
//nolint:contextcheck // an attempt is recorded even after the lease has ended
func (d *Deliverer) deliver(lease context.Context, fence string, f *flow, next store.Delivery) (nextDue time.Time) {
	result := originUnaffected
	inFlight := true
	finish := func() {
		if inFlight {
			inFlight = false
			d.call(func() { d.attemptDone(f, result) })
		}
	}
	defer finish()
	if next.URLDisabled {
		return d.exhaust(next)
	}
	secrets, err := d.webhookSecrets(next.UserID)
	if err != nil || lease.Err() != nil || d.leaseExpired() {
		return d.retryTime(err)
	}
	spanContext, span := d.traceAttempt(lease, next)
	sent := d.Sender.Send(spanContext, sender.Message{
		URL: next.URL, ID: next.Event.ID, Sequence: next.Event.Sequence, Body: next.Event.Body, Secrets: secrets,
		TraceParent: tracing.Parent(spanContext),
	})
	if lease.Err() != nil && !sent.Delivered() {
		endAttempt(span, studio.EventPending, sent)
		return d.databaseNow() // a canceled attempt is not recorded
	}
	result = originResultOf(sent)
	finish()

	tries := next.Tries + 1
	outcome, wait := decide(tries, sent)
	endAttempt(span, outcome.State, sent)
	outcome.RetryAt = d.databaseNow().Add(wait)
	attempt := studio.Attempt{
		Number: next.Attempts + 1, At: sent.At, Duration: sent.Duration, Address: sent.Address,
		Status: sent.Status, Failure: string(sent.Failure), Excerpt: sent.Excerpt,
	}
	nextDue, err = d.record(d.ctx, d.stop, fence, store.MadeAttempt{Event: next.Event, Outcome: outcome, Attempt: attempt})
	d.OnAttempt(outcome.State, sent)
	if err != nil {
		return d.retryTime(err)
	}
	d.endpoints.add(userURL{next.UserID, next.URL}, attempt)
	failure := string(sent.Failure)
	if sent.NotPublic {
		failure = "not public" // users see that there is no address
	}
	d.Logger.LogAttrs(d.ctx, slog.LevelInfo, "delivery attempted", slog.String("event", next.Event.ID),
		slog.String("subject", next.Event.SubjectID), slog.Int64("sequence", next.Event.Sequence), slog.Int("try", tries),
		slog.String("state", string(outcome.State)), slog.Int("status", sent.Status), slog.String("failure", failure),
		slog.Duration("duration", sent.Duration), slog.String("request_id", next.RequestID))
	if outcome.DisableURL {
		d.Logger.WarnContext(d.ctx, "endpoint disabled", "user", next.UserID, "origin", next.Origin)
	}
	return nextDue
}

// exhaust ends all pending events of a subject whose URL is disabled. It returns the zero time, or when the subject is
// due again: after an error, or if its user has enabled the URL.
func (d *Deliverer) exhaust(next store.Delivery) time.Time {
	nextDue, err := d.Store.ExhaustEvents(d.ctx, next.Event.SubjectID, d.Now(), studio.ReasonDisabled)
	if err != nil {
		return d.retryTime(err)
	}
	if nextDue.IsZero() {
		d.Logger.InfoContext(d.ctx, "events given up", "subject", next.Event.SubjectID, "reason", string(studio.ReasonDisabled))
	}
	return nextDue
}

// retryTime returns when a subject is due again that was not attempted: after errorPause if err is not
// nil, which it logs, or else now.
func (d *Deliverer) retryTime(err error) time.Time {
	if err == nil {
		return d.databaseNow()
	}
	d.faults.Error(d.ctx, deliverWork, err)
	return d.databaseNow().Add(errorPause)
}

// record stores an attempt and returns when the subject is due again. Sending the event again would duplicate it, so
// record repeats the write, until stop ends. If another process has taken the lease over, that process decides the
// outcome of the event; record then stores the attempt without an outcome, unless the event was delivered.
func (d *Deliverer) record(ctx, stop context.Context, fence string, r store.MadeAttempt) (nextDue time.Time, err error) {
	studio.Persist(ctx, stop, func(ctx context.Context) bool {
		nextDue, err = d.Store.SaveAttempt(ctx, fence, r)
		if errors.Is(err, store.ErrLeaseLost) {
			if fence = ""; r.Outcome.State != studio.EventDelivered {
				r.Outcome = store.Outcome{State: studio.NoEventState}
			}
			nextDue, err = d.Store.SaveAttempt(ctx, fence, r)
		}
		if err == nil || errors.Is(err, studio.ErrNotFound) { // the rows were deleted, by a restore for instance
			return true
		}
		if ctx.Err() == nil {
			d.faults.Report(ctx, slog.LevelError, "record", "attempt not recorded", "event", r.Event.ID, "err", err)
		}
		return false
	})
	if errors.Is(err, studio.ErrNotFound) {
		err = fmt.Errorf("the event %s: %w", r.Event.ID, err)
	}
	return nextDue, err
}

// cachedSecrets are the webhook secrets of a user, which are cached for secretsLifetime.
type cachedSecrets struct {
	read      func() ([]standardwebhooks.Secret, error)
	expiresAt time.Time
}

// webhookSecrets returns the secrets that sign the events of a user. The cache may hide a new secret for up
// to secretsLifetime. The secret before it is still valid then. Concurrent attempts share one read, and its error.
func (d *Deliverer) webhookSecrets(userID string) ([]standardwebhooks.Secret, error) {
	now := time.Now()
	d.secretsMu.Lock()
	cached := d.secrets[userID]
	if !now.Before(cached.expiresAt) {
		if len(d.secrets) > maxCachedUsers {
			clear(d.secrets)
		}
		cached = cachedSecrets{sync.OnceValues(func() ([]standardwebhooks.Secret, error) {
			ctx, cancel := context.WithTimeout(d.ctx, secretsTimeout)
			defer cancel()
			texts, err := d.Studio.WebhookSecrets(ctx, userID)
			if err != nil {
				return nil, err
			}
			return standardwebhooks.ParseSecrets(texts)
		}), now.Add(secretsLifetime)}
		d.secrets[userID] = cached
	}
	d.secretsMu.Unlock()
	return cached.read()
}
