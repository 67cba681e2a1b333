package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func eventCommand() *cli.Command {
	return &cli.Command{
		Name: "event", Usage: "list, show and replay webhook events",
		Commands: []*cli.Command{
			described(leaf("list", "list events, newest first", "", slices.Concat(rangeFlags(), []cli.Flag{
				&cli.StringFlag{Name: "state", Usage: "only events in this `STATE`: pending, delivered, exhausted, or none if no webhook is registered", Validator: oneOf(studio.EventStates()...)},
			}, pageFlags("events")), onStore(listEvents)),
				`JSON fields: id, subject_id, sequence, user_id, webhook_url (without its query), state, reason, tries,
created_at, ended_at. Fields without a value are omitted.

Example: studiod event list --state exhausted --since 96h`),
			described(leaf("show", "show an event, its body and every attempt to deliver it", "ID", []cli.Flag{
				&cli.BoolFlag{Name: "excerpt", Usage: "also show the beginning of each response, as far as stored"}, jsonFlag(),
			}, onStore(showEvent)),
				`ID is also the webhook-id of the notification.
JSON fields: those of the list, body, and attempts, each with number, at, duration_ms, status, failure, address
and, with --excerpt, excerpt.
Failures: invalid, blocked, dns, connect, tls, timeout, reset, protocol, status, canceled.

Example: studiod event show --excerpt 01936f3e-7d00-7c4d-8e55-3a7a2b1c0d20`),
			described(leaf("replay", "send exhausted events again, each with a new retry schedule", "[ID]", append(rangeFlags(),
				&cli.BoolFlag{Name: "all", Usage: "replay all exhausted events"},
				&cli.BoolFlag{Name: "delivered", Usage: "also replay events that were delivered"},
				&cli.BoolFlag{Name: "dry-run", Usage: "count the events and change nothing"},
				jsonFlag()), recorded(onStore(replayEvents))),
				`This replays one event by its ID, the events of a subject, the events created in a period, or --all. An event
keeps its webhook-id, and the events of a subject are sent in order. The daemon sends them in batches. First enable a
disabled URL with "studiod endpoint enable".
JSON fields: events (how many), dry_run.

Example: studiod event replay --since 96h --until 72h --dry-run`),
		},
	}
}

func rangeFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "subject", Usage: "only events of the avatar, video or lip-sync with this `ID`", Validator: checkID},
		&cli.StringFlag{Name: "since", Usage: "only events created since `TIME`, such as 2006-01-02T15:04:05Z, or 2h for two hours ago"},
		&cli.StringFlag{Name: "until", Usage: "only events created before `TIME`"},
	}
}

// rangeOf reads the flags that rangeFlags defines.
func rangeOf(command *cli.Command) (filter studio.EventFilter, err error) {
	filter.SubjectID = command.String("subject")
	now := time.Now()
	for flag, at := range map[string]*time.Time{"since": &filter.From, "until": &filter.To} {
		if !command.IsSet(flag) {
			continue
		}
		if *at, err = commandline.Time(command.String(flag), now); err != nil {
			return filter, usagef("--%s %w", flag, err)
		}
	}
	if !filter.From.IsZero() && !filter.To.IsZero() && !filter.From.Before(filter.To) {
		return filter, usagef("--since must be before --until")
	}
	return filter, nil
}

// event is an event, and what is shown of it by itself.
type event struct {
	studio.EventRecord

	shown    json.RawMessage // the body
	attempts []map[string]any
}

func eventColumns() columns[event] {
	return columns[event]{
		{"id", "ID", func(e event) any { return e.ID }},
		{"created_at", "CREATED", func(e event) any { return e.CreatedAt }},
		{"ended_at?", "", func(e event) any { return e.EndedAt }},
		{"state", "", func(e event) any { return e.State }},
		{"reason?", "", func(e event) any { return e.Reason }},
		{"", "STATE", func(e event) any { return withReason(e.State, e.Reason) }},
		{"tries", "TRIES", func(e event) any { return e.Tries }},
		{"subject_id", "SUBJECT", func(e event) any { return e.SubjectID }},
		{"sequence", "SEQUENCE", func(e event) any { return e.Sequence }},
		{"user_id", "", func(e event) any { return e.UserID }},
		{"webhook_url", "URL", func(e event) any { return studio.WithoutQuery(e.URL) }},
		{"body?", "", func(e event) any { return e.shown }},
		{"attempts?", "", func(e event) any { return e.attempts }},
	}
}

// withReason returns a state with its reason, if there is one.
func withReason[State ~string](state State, reason studio.Reason) string {
	if reason == "" {
		return string(state)
	}
	return fmt.Sprintf("%s (%s)", state, reason)
}

// findEvents returns up to limit events, newest first. They begin after the event with the ID after, unless it is "".
func findEvents(ctx context.Context, db *store.Store, filter studio.EventFilter, after string, limit int) (all []event, err error) {
	var last studio.EventRecord
	if after != "" {
		if last, err = eventByID(ctx, db, after); err != nil {
			return nil, err
		}
	}
	for more := true; more && len(all) < limit; {
		var page []studio.EventRecord
		position := studio.Position{CreatedAt: last.CreatedAt, ID: last.ID}
		page, more, err = db.Events(ctx, filter, studio.NewestFirst, position, min(limit-len(all), maxListed))
		if err != nil {
			return nil, err
		}
		for _, last = range page {
			all = append(all, event{EventRecord: last})
		}
	}
	return all, nil
}

func listEvents(ctx context.Context, command *cli.Command, db *store.Store) error {
	filter, err := rangeOf(command)
	if err != nil {
		return err
	}
	filter.State = studio.EventState(command.String("state"))
	return eventColumns().page(ctx, command, "no events", func(ctx context.Context, after string, limit int) ([]event, error) {
		return findEvents(ctx, db, filter, after, limit)
	})
}

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
