package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// followAttempts are enough to follow events through an outage of the service that takes minutes.
const followAttempts = 100

func (p *program) eventsCommand() *cli.Command {
	return p.serviceLeaf("events", "list events, newest first", "",
		"  studio events --since 1h --state exhausted\n  studio events --all --json",
		append(append(eventFilterFlags(),
			&cli.StringFlag{Name: "id", Usage: "list only the event with this id"},
			&cli.StringFlag{Name: "state", Usage: "list only events in this state: pending, delivered, exhausted or none"},
			&cli.StringFlag{Name: "order", Usage: "list the newest or the oldest events first", DefaultText: "newest"},
			&cli.BoolFlag{Name: "attempts", Usage: "with --json, print the attempts to deliver each event as well"}),
			limitFlags("events")...),
		p.events)
}

func eventFilterFlags() []cli.Flag {
	return []cli.Flag{
		sinceFlag(),
		&cli.StringFlag{Name: "until", Usage: "only events before this time"},
		&cli.StringFlag{Name: "type", Usage: "only events of this type: " + eventNames()},
		&cli.StringFlag{Name: "subject", Usage: "only events of the avatar, video or lip-sync with this id"},
	}
}

func sinceFlag() cli.Flag {
	return &cli.StringFlag{Name: "since", Usage: "only events since this time, such as 2006-01-02T15:04:05Z, or 2h for two hours ago"}
}

func (p *program) events(ctx context.Context, command *cli.Command, c *client.Client) error {
	params, err := eventParams(command)
	if err != nil {
		return err
	}
	params.EventID, params.Order = flagValue[string](command, "id"), flagValue[gen.EventOrder](command, "order")
	if command.Bool("attempts") {
		params.Attempts = new(true)
	}
	most, limit := limits(command)
	params.Limit = &limit
	table := p.table(command, "ID", "CREATED", "STATE", "ATTEMPTS", "EVENT", "SUBJECT", "STATUS", "SEQUENCE")
	return printRows(table, most, c.Events(ctx, params), func(e *gen.EventRecord) []string {
		about := subjectOf(e.Notification)
		return []string{
			e.EventID, stamp(&e.CreatedAt), string(e.State), strconv.Itoa(e.AttemptsMade),
			string(e.Notification.EventType), about.id(), about.Status, strconv.FormatInt(e.Sequence, 10),
		}
	})
}

// eventParams returns the filters in the flags.
func eventParams(command *cli.Command) (params client.ListEventsParams, err error) {
	params.EventType = flagValue[gen.EventType](command, "type")
	params.SubjectID = flagValue[string](command, "subject")
	params.State = flagValue[gen.EventState](command, "state")
	if params.EventType != nil && !params.EventType.Valid() {
		return params, usagef("--type must be one of %s", eventNames())
	}
	if params.Since, err = timeFlag(command, "since"); err != nil {
		return params, err
	}
	params.Until, err = timeFlag(command, "until")
	return params, err
}

// timeFlag returns the time in a flag, or nil if the flag was not set.
func timeFlag(command *cli.Command, name string) (*time.Time, error) {
	if !command.IsSet(name) {
		return nil, nil
	}
	at, err := commandline.Time(command.String(name), time.Now())
	if err != nil {
		return nil, usagef("--%s %w", name, err)
	}
	return &at, nil
}

// follow returns the events from --since on, or from now on. It fails at once if the service cannot be reached.
func (p *program) follow(ctx context.Context, command *cli.Command, c *client.Client) (iter.Seq2[*gen.EventRecord, error], error) {
	since, err := timeFlag(command, "since")
	if err != nil {
		return nil, err
	}
	newest, err := c.ListEvents(ctx, client.ListEventsParams{Limit: new(1)})
	switch {
	case err != nil:
		return nil, err
	case since != nil:
	case len(newest.Data) > 0:
		since = new(newest.Data[0].CreatedAt.Add(1))
	default:
		since = new(time.Time)
	}
	retry := p.retry
	retry.Attempts = followAttempts
	return c.EventsSince(ctx, *since, client.WithRetry(retry)), nil
}

// subjectOf returns the id and the status in a notification. One that the document does not list may have neither.
func subjectOf(notification gen.Event) *subject {
	about := &subject{}
	_ = json.Unmarshal(notification.Data, about)
	return about
}

// eventNames returns the event types of the document.
func eventNames() string {
	var names []string
	for _, eventType := range gen.EventTypes() {
		names = append(names, string(eventType))
	}
	return strings.Join(names, ", ")
}

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
		_, err = fmt.Fprintf(p.Stdout, "events that would be sent again: %d\n", replay.Events)
	default:
		_, err = fmt.Fprintf(p.Stdout, "events sent again: %d\n", replay.Events)
	}
	return err
}
