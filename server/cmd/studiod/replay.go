package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func replayEvents(ctx context.Context, command *cli.Command, db *store.Store) error {
	selected, err := selectedEvents(command)
	if err != nil {
		return err
	}
	for _, id := range selected.EventIDs {
		if err := checkReplayable(ctx, db, id, selected.States); err != nil {
			return err
		}
	}
	n, err := studio.New(studio.Config{Store: db}).ReplayEvents(ctx, selected)
	switch {
	case err != nil:
		return err
	case command.Bool("json"):
		return commandline.PrintJSON(command.Root().Writer, map[string]any{"events": n, "dry_run": selected.DryRun})
	case selected.DryRun:
		return printLines(command, fmt.Sprintf("%d events would be sent again", n))
	}
	return printLines(command, fmt.Sprintf("%d events are sent again", n))
}

// checkReplayable returns an error that says why an event cannot be replayed.
func checkReplayable(ctx context.Context, db *store.Store, id string, states []studio.EventState) error {
	e, err := eventByID(ctx, db, id)
	switch {
	case err != nil:
		return err
	case e.Deleted:
		return fmt.Errorf("the %s of the event was deleted", e.Kind)
	case e.State == studio.EventPending:
		return errors.New("the event is pending; it is sent anyway")
	case e.State == studio.EventUnsent:
		return errors.New("the event has no webhook")
	case e.State == studio.EventDelivered && len(states) == 0:
		return errors.New("the event is delivered; --delivered replays it")
	}
	return nil
}

// selectedEvents returns the events of a replay. It requires a selection, because an empty filter selects all events.
func selectedEvents(command *cli.Command) (selected studio.Replay, err error) {
	selected.DryRun = command.Bool("dry-run")
	if command.Bool("delivered") {
		selected.States = []studio.EventState{studio.EventExhausted, studio.EventDelivered}
	}
	if selected.Filter, err = rangeOf(command); err != nil {
		return selected, err
	}
	ranged, all := selected.Filter != studio.EventFilter{}, command.Bool("all")
	switch one := command.Args().Present(); {
	case !one && !ranged && !all:
		return selected, usagef("set an ID, --subject, --since, --until or --all")
	case one && (ranged || all), ranged && all:
		return selected, usagef("an ID and --all exclude all other selections")
	case one:
		id, err := idArgument(command)
		selected.EventIDs = []string{id}
		return selected, err
	}
	if selected.Filter.From.IsZero() && selected.Filter.To.IsZero() {
		selected.Filter.From = time.Unix(0, 0) // a replay needs a range
	}
	return selected, nil
}
