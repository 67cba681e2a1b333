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
			described(leaf("pause", "stop all deliveries, on all daemons, until they are resumed", "", nil, recorded(onStore(pauseDeliveries))),
				`No attempt begins later than a second after the command. Attempts that run are finished. Events wait, and lose
neither their order nor an attempt. Restarts do not end the pause. Tests of webhooks by users are still sent.

Example: studiod delivery pause`),
			described(leaf("resume", "end a pause, and send what has become due", "", nil, recorded(onStore(resumeDeliveries))),
				`Example: studiod delivery resume`),
		},
	}
}

func pauseDeliveries(ctx context.Context, command *cli.Command, db *store.Store) error {
	since, err := db.Pause(ctx, time.Now())
	if err != nil {
		return err
	}
	return printLines(command, "deliveries are paused since "+formatTime(since))
}

func resumeDeliveries(ctx context.Context, command *cli.Command, db *store.Store) error {
	err := db.Resume(ctx)
	if errors.Is(err, studio.ErrNotFound) {
		return printLines(command, "deliveries were not paused")
	}
	if err != nil {
		return err
	}
	return printLines(command, "deliveries are resumed")
}

// warnOfPause logs a warning if deliveries are paused, because a pause outlives restarts.
func (d *daemon) warnOfPause(ctx context.Context) {
	since, err := d.store.PausedSince(ctx)
	if err == nil && !since.IsZero() {
		d.cfg.Logger.WarnContext(ctx, "deliveries are paused; studiod delivery resume ends the pause", "since", since)
	}
}
