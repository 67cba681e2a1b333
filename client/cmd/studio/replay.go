package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

func (p *program) eventCommand() *cli.Command {
	replay := p.serviceLeaf("replay", "send events to their webhook URL again, and print how many", "[ID...]",
		example("event", "replay --since 96h --until 72h --dry-run\n  studio event replay --state delivered ID"),
		append(eventFilterFlags(),
			&cli.StringSliceFlag{Name: "state", Usage: "state of the events: exhausted or delivered; may be repeated", DefaultText: "exhausted"},
			&cli.BoolFlag{Name: "dry-run", Usage: "count the events and send nothing"},
			idempotencyKeyFlag("replays")),
		p.replay)
	return &cli.Command{
		Name: "event", Usage: `replay events; "studio events" lists them`,
		Description: replay.Description, Commands: []*cli.Command{replay},
	}
}

func (p *program) replay(ctx context.Context, command *cli.Command, c *client.Client) error {
	filter, err := eventParams(command)
	if err != nil {
		return err
	}
	body := gen.ReplayRequest{
		Since: filter.Since, Until: filter.Until, EventType: filter.EventType, SubjectID: filter.SubjectID, DryRun: new(command.Bool("dry-run")),
	}
	if ids := command.Args().Slice(); len(ids) > 0 {
		body.EventIDs = &ids
	}
	if body.EventIDs == nil && body.Since == nil && body.Until == nil {
		return usagef("give the IDs of events, --since or --until")
	}
	if states := command.StringSlice("state"); len(states) > 0 {
		body.States = new([]gen.ReplayState)
		for _, state := range states {
			*body.States = append(*body.States, gen.ReplayState(state))
		}
	}
	key := cmp.Or(command.String("idempotency-key"), uuid.NewString())
	replay, err := c.ReplayEvents(ctx, body, client.WithIdempotencyKey(key))
	if err == nil && replay.Events == 0 && body.EventIDs != nil && body.States == nil {
		_, _ = fmt.Fprintln(p.Stderr, "none of these events is exhausted; --state delivered sends delivered events again")
	}
	switch {
	case err != nil:
		return withFlags(err, "--idempotency-key", key)
	case command.Bool("json"):
		return commandline.PrintJSON(p.Stdout, replay)
	case replay.DryRun:
		_, err = fmt.Fprintf(p.Stdout, "%d events would be sent again\n", replay.Events)
	default:
		_, err = fmt.Fprintf(p.Stdout, "%d events are sent again\n", replay.Events)
	}
	return err
}
