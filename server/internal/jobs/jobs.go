// Package jobs does what is due for subjects: it renders them and delivers their events. The
// rows in the store hold all state, order and due times; a trigger only says when to look.
// [Jobs.Render] and [Jobs.Deliver] are the work, [Local] is the trigger for a database that
// one process has to itself.
//
// Both may be called again for the same subject at any time, after a crash for instance:
// rendering is repeated until its result is written, and an attempt that was not recorded is
// made again with the same event id. For one subject, one kind of work must not run twice at
// the same time; the trigger sees to that.
package jobs

import (
	"context"
	"errors"
	"log/slog"
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

// Sender makes one attempt to deliver an event.
type Sender interface {
	Send(ctx context.Context, message sender.Message) sender.Attempt
}

// Config holds what the work needs. Store, Studio, Sender and Renderer are required.
type Config struct {
	Store    *store.Store
	Studio   *studio.Service
	Sender   Sender
	Renderer studio.Renderer
	// RenderTimeout ends a rendering that hangs; it is then tried again. Default 15 minutes.
	RenderTimeout time.Duration
	// Logger gets one line for each rendering and each attempt. Default: none.
	Logger *slog.Logger
	// Now tells the time. Default time.Now.
	Now func() time.Time
}

// Jobs does the work. It is safe for concurrent use with the limit that the package states.
type Jobs struct {
	Config
}

// New makes a Jobs.
func New(cfg Config) *Jobs {
	if cfg.RenderTimeout <= 0 {
		cfg.RenderTimeout = 15 * time.Minute
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Jobs{Config: cfg}
}

// Render renders a subject once and writes what follows. When ctx ends first, nothing is
// written and the rendering stays due.
func (j *Jobs) Render(ctx context.Context, subjectID string) error {
	subject, err := j.Store.Subject(ctx, subjectID)
	if err != nil || subject.RenderAt.IsZero() || subject.RenderAt.After(j.Now()) {
		return err
	}
	began := j.Now()
	limited, cancel := context.WithTimeout(ctx, j.RenderTimeout)
	result, failure := j.Renderer.Render(limited, subject)
	cancel()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	subject, err = j.Studio.Rendered(ctx, subjectID, result, failure)
	if err != nil {
		return err
	}
	j.Logger.InfoContext(ctx, "rendered", "kind", subject.Kind, "id", subject.ID,
		"status", subject.Status, "duration", j.Now().Sub(began))
	return nil
}

func (j *Jobs) render(ctx, _ context.Context, subjectID string) error {
	return j.Render(ctx, subjectID)
}

// Deliver sends the events of a subject that are due, in order, until none is left, one has to be
// tried later, or stop ends. When ctx ends during an attempt, the attempt counts for nothing.
func (j *Jobs) Deliver(ctx, stop context.Context, subjectID string) error {
	for stop.Err() == nil {
		next, err := j.Store.NextDelivery(ctx, subjectID)
		if errors.Is(err, studio.ErrNotFound) || err == nil && next.DueAt.After(j.Now()) {
			return nil
		}
		if err != nil {
			return err
		}
		secrets, err := j.secrets(ctx, next.UserID)
		if err != nil {
			return err
		}
		attempt := j.Sender.Send(ctx, sender.Message{
			URL: next.URL, ID: next.Event.ID, Sequence: next.Event.Sequence, Body: next.Event.Body, Secrets: secrets,
		})
		if ctx.Err() != nil && !attempt.Delivered() {
			return ctx.Err()
		}
		tries := next.Tries + 1
		state, wait := judge(tries, attempt)
		err = j.record(ctx, next.Event, store.Attempt{
			Number: tries, At: attempt.At, Duration: attempt.Duration, Address: attempt.Address,
			Status: attempt.Status, Failure: string(attempt.Failure), Excerpt: attempt.Excerpt,
		}, state, attempt.At.Add(attempt.Duration+wait))
		if err != nil {
			return err
		}
		j.Logger.InfoContext(ctx, "delivery attempted", "event", next.Event.ID, "subject", subjectID,
			"sequence", next.Event.Sequence, "try", tries, "state", string(state), "status", attempt.Status,
			"failure", string(attempt.Failure), "duration", attempt.Duration)
	}
	return nil
}

// record writes an attempt, which has happened and must not be repeated because the database is
// full or busy: it tries until it can, or until ctx has ended, and then once more for a while.
func (j *Jobs) record(
	ctx context.Context, event studio.Event, attempt store.Attempt, state store.EventState, retryAt time.Time,
) error {
	for wait := minRecordPause; ctx.Err() == nil; wait = min(2*wait, maxRecordPause) {
		err := j.Store.RecordAttempt(ctx, event, attempt, state, retryAt)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			j.Logger.ErrorContext(ctx, "attempt not recorded", "event", event.ID, "err", err)
			pause(ctx, wait)
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastRecordTimeout)
	defer cancel()
	return j.Store.RecordAttempt(last, event, attempt, state, retryAt)
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
