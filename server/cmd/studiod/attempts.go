package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func attemptColumns(excerpt bool) columns[studio.Attempt] {
	all := columns[studio.Attempt]{
		{"number", "ATTEMPT", func(a studio.Attempt) any { return a.Number }},
		{"at", "AT", func(a studio.Attempt) any { return a.At }},
		{"duration_ms", "MILLISECONDS", func(a studio.Attempt) any { return float64(a.Duration.Microseconds()) / 1000 }},
		{"status?", "STATUS", func(a studio.Attempt) any { return a.Status }},
		{"failure?", "FAILURE", func(a studio.Attempt) any { return a.Failure }},
		{"address?", "ADDRESS", func(a studio.Attempt) any { return a.Address }},
		{"excerpt?", "", func(a studio.Attempt) any { return string(a.Excerpt) }},
	}
	if !excerpt {
		return all[:len(all)-1]
	}
	return all
}

func showEvent(ctx context.Context, command *cli.Command, db *store.Store) error {
	id, err := idArgument(command)
	if err != nil {
		return err
	}
	found, err := eventByID(ctx, db, id)
	if err != nil {
		return err
	}
	all, err := db.Attempts(ctx, id)
	if err != nil {
		return err
	}
	excerpt := command.Bool("excerpt")
	attempts := attemptColumns(excerpt)
	shown := event{EventRecord: found, shown: found.Body, attempts: []map[string]any{}}
	for _, a := range all[id] {
		shown.attempts = append(shown.attempts, attempts.object(a))
	}
	if err := eventColumns().list(command, []event{shown}, ""); err != nil || command.Bool("json") {
		return err
	}
	if err := printLines(command, "", commandline.Printable(string(found.Body)), ""); err != nil {
		return err
	}
	if err := attempts.list(command, all[id], "no attempts"); err != nil || !excerpt {
		return err
	}
	return printExcerpts(command, all[id])
}

// printExcerpts prints what receivers answered. The bar marks lines that a receiver wrote, so that they cannot imitate
// lines of this program.
func printExcerpts(command *cli.Command, attempts []studio.Attempt) error {
	for _, a := range attempts {
		if len(a.Excerpt) == 0 {
			continue
		}
		lines := []string{"", fmt.Sprintf("response to attempt %d:", a.Number)}
		for line := range strings.Lines(string(a.Excerpt)) {
			lines = append(lines, "| "+commandline.Printable(strings.TrimRight(line, "\r\n")))
		}
		if err := printLines(command, lines...); err != nil {
			return err
		}
	}
	return nil
}

func idArgument(command *cli.Command) (string, error) {
	id := command.Args().First()
	if err := checkID(id); err != nil {
		return "", usagef("the ID %w", err)
	}
	return id, nil
}

// eventByID returns an event. A missing event is not a usage error, because it may have been pruned.
func eventByID(ctx context.Context, db *store.Store, id string) (studio.EventRecord, error) {
	found, err := db.Event(ctx, id)
	if errors.Is(err, studio.ErrNotFound) {
		return found, fmt.Errorf("no event %s", id)
	}
	return found, err
}
