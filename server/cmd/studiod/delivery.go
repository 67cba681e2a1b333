package main

import (
	"context"
	"errors"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func deliveryCommand() *cli.Command {
	return &cli.Command{
		Name: "delivery", Usage: "pause and resume all webhook deliveries",
		Commands: []*cli.Command{
			described(leaf("pause", "stop all deliveries, on all daemons, until they are resumed", "", nil, onStore(pauseDeliveries)),
				`No attempt begins later than a second after the command. Attempts that run are finished. Events wait, and lose
neither their order nor an attempt. Restarts do not end the pause. Tests of webhooks by users are still sent.

Example: studiod delivery pause`),
			described(leaf("resume", "end a pause, and send what has become due", "", nil, onStore(resumeDeliveries)),
				`Example: studiod delivery resume`),
			described(leaf("status", "show whether deliveries are paused, and how many are due", "", []cli.Flag{jsonFlag()}, onStore(showDeliveries)),
				`JSON fields: paused_since (omitted if not paused), due (avatars, videos and lip-syncs with a due event, up to
100,000), oldest_due_seconds.

Example: studiod delivery status`),
		},
	}
}

func pauseDeliveries(ctx context.Context, command *cli.Command, db *store.Store) error {
	since, err := db.Pause(ctx, store.PauseScope{}, time.Now())
	if err != nil {
		return err
	}
	return printLines(command, "deliveries are paused since "+formatTime(since))
}

func resumeDeliveries(ctx context.Context, command *cli.Command, db *store.Store) error {
	err := db.Resume(ctx, store.PauseScope{})
	if errors.Is(err, studio.ErrNotFound) {
		return printLines(command, "deliveries were not paused")
	}
	if err != nil {
		return err
	}
	return printLines(command, "deliveries are resumed")
}

func showDeliveries(ctx context.Context, command *cli.Command, db *store.Store) error {
	status, err := db.Status(ctx)
	if err != nil {
		return err
	}
	return columns[store.Status]{
		{"paused_since?", "PAUSED SINCE", func(s store.Status) any { return s.PausedSince }},
		{"due", "DUE", func(s store.Status) any { return s.Delivery.Count }},
		{"oldest_due_seconds", "OLDEST DUE (SECONDS)", func(s store.Status) any { return s.Delivery.Oldest.Seconds() }},
	}.list(command, []store.Status{status}, "")
}

// warnOfPause logs a warning if deliveries are paused, because a pause outlives restarts.
func (d *daemon) warnOfPause(ctx context.Context) {
	since, err := d.store.PausedSince(ctx, store.PauseScope{})
	if err == nil && !since.IsZero() {
		d.cfg.Logger.WarnContext(ctx, "deliveries are paused; studiod delivery resume ends the pause", "since", since)
	}
}
