package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/commandline"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/wire"
)

func replayEvents(ctx context.Context, command *cli.Command) error {
	filter, err := replayFilter(command)
	if err != nil {
		return err
	}
	return withStore(ctx, command, false, func(db *store.Store) error {
		if filter.ID != "" {
			found, err := eventByID(ctx, db, filter.ID)
			if err != nil {
				return err
			}
			if found.State != studio.EventExhausted {
				return fmt.Errorf("the event is %s; only exhausted events can be replayed", found.State)
			}
		}
		if command.Bool("dry-run") {
			events, err := exhausted(ctx, db, filter)
			if err != nil {
				return err
			}
			return printEvents(command, events)
		}
		replay := studio.Replay{Filter: filter}
		if filter.From.IsZero() && filter.To.IsZero() {
			replay.Filter.From = time.Unix(0, 0) // a replay needs a range
		}
		replayed, err := studio.New(wire.Config(db, nil)).ReplayEvents(ctx, replay)
		if err != nil {
			return err
		}
		if command.Bool("json") {
			return commandline.PrintJSON(command.Root().Writer, map[string]int64{"replayed": replayed})
		}
		return printLines(command, fmt.Sprintf("%d exhausted events replayed", replayed))
	})
}

// replayFilter returns the filter for a replay. It requires a selection, because an empty filter selects all events.
func replayFilter(command *cli.Command) (studio.EventFilter, error) {
	filter, err := rangeOf(command)
	if err != nil {
		return filter, err
	}
	ranged, all := filter != studio.EventFilter{}, command.Bool("all")
	switch one := command.Args().Present(); {
	case !one && !ranged && !all:
		return filter, usagef("set an ID, --subject, --since, --until or --all")
	case one && (ranged || all), ranged && all:
		return filter, usagef("an ID and --all exclude all other selections")
	case one:
		filter.ID, err = idArgument(command)
	}
	return filter, err
}

// exhausted returns all events that a replay would send.
func exhausted(ctx context.Context, db *store.Store, filter studio.EventFilter) (all []event, err error) {
	filter.State = studio.EventExhausted
	all, err = findEvents(ctx, db, filter, "", math.MaxInt)
	return slices.DeleteFunc(all, func(e event) bool { return e.Reason == studio.ReasonDeleted }), err
}
