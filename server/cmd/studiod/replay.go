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
	n, err := studio.New(studio.Config{Store: db}).ReplayEvents(ctx, selected)
	switch {
	case err != nil:
		return err
	case n == 0 && len(selected.EventIDs) > 0:
		return errors.New("there is no such event, or it is pending, has no webhook, or was delivered, or its subject was deleted; --delivered replays one that was delivered")
	case command.Bool("json"):
		return commandline.PrintJSON(command.Root().Writer, map[string]any{"events": n, "dry_run": selected.DryRun})
	case selected.DryRun:
		return printLines(command, fmt.Sprint("events that would be sent again: ", n))
	}
	return printLines(command, fmt.Sprint("events sent again: ", n))
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
