package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// attempt is the printed form of an attempt.
type attempt struct {
	Number   int       `json:"number"`
	At       time.Time `json:"at"`
	Duration float64   `json:"duration_ms"`
	Status   int       `json:"status,omitempty"`
	Failure  string    `json:"failure,omitempty"`
	Address  string    `json:"address,omitempty"`
	Excerpt  string    `json:"excerpt,omitempty"`
}

func showEvent(ctx context.Context, command *cli.Command) error {
	id, err := idArgument(command)
	if err != nil {
		return err
	}
	return withStore(ctx, command, false, func(db *store.Store) error {
		found, err := eventByID(ctx, db, id)
		if err != nil {
			return err
		}
		all, err := db.Attempts(ctx, id)
		if err != nil {
			return err
		}
		shown := event{EventRecord: found, shown: found.Body, attempts: make([]attempt, len(all[id]))}
		for i, a := range all[id] {
			shown.attempts[i] = attempt{
				Number: a.Number, At: a.At, Duration: float64(a.Duration.Microseconds()) / 1000, Status: a.Status,
				Failure: a.Failure, Address: a.Address,
			}
			if command.Bool("excerpt") {
				shown.attempts[i].Excerpt = string(a.Excerpt)
			}
		}
		if err := eventColumns().list(command, []event{shown}, ""); err != nil || command.Bool("json") {
			return err
		}
		return shown.printBody(command)
	})
}

// printBody prints the body of an event and the attempts to deliver it.
func (e event) printBody(command *cli.Command) error {
	out := command.Root().Writer
	if _, err := fmt.Fprintf(out, "\n%s\n\n", commandline.Printable(string(e.Body))); err != nil {
		return err
	}
	err := columns[attempt]{
		{"", "ATTEMPT", func(a attempt) any { return a.Number }},
		{"", "AT", func(a attempt) any { return a.At }},
		{"?", "STATUS", func(a attempt) any { return a.Status }},
		{"", "MILLISECONDS", func(a attempt) any { return a.Duration }},
		{"", "FAILURE", func(a attempt) any { return a.Failure }},
		{"", "ADDRESS", func(a attempt) any { return a.Address }},
	}.list(command, e.attempts, "no attempts")
	var excerpts bytes.Buffer
	for _, a := range e.attempts {
		if a.Excerpt != "" {
			fmt.Fprintf(&excerpts, "\nresponse to attempt %d:\n", a.Number)
		}
		// The bar marks lines that the receiver wrote, so that they cannot imitate lines of this program.
		for line := range strings.Lines(a.Excerpt) {
			fmt.Fprintln(&excerpts, "| "+commandline.Printable(strings.TrimRight(line, "\r\n")))
		}
	}
	if err == nil {
		_, err = excerpts.WriteTo(out)
	}
	return err
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
