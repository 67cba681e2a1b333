package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
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
		if command.Bool("json") {
			return eventColumns().list(command, []event{shown}, "")
		}
		return shown.print(command.Root().Writer)
	})
}

func (e event) print(out io.Writer) error {
	var text bytes.Buffer // writing to a bytes.Buffer does not fail
	_ = printTable(
		&text,
		[]string{"id", e.ID},
		[]string{"subject", e.SubjectID},
		[]string{"sequence", strconv.FormatInt(e.Sequence, 10)},
		[]string{"user", e.UserID},
		[]string{"url", studio.WithoutQuery(e.URL)},
		[]string{"state", withReason(e.State, e.Reason)},
		[]string{"tries", strconv.Itoa(e.Tries)},
		[]string{"created", formatTime(e.CreatedAt)},
		[]string{"ended", formatTime(e.EndedAt)},
		[]string{"body", string(e.Body)},
	)
	if len(e.attempts) > 0 {
		rows := [][]string{{"ATTEMPT", "AT", "STATUS", "DURATION", "FAILURE", "ADDRESS"}}
		for _, a := range e.attempts {
			rows = append(rows, a.row())
		}
		fmt.Fprintln(&text)
		_ = printTable(&text, rows...)
	}
	for _, a := range e.attempts {
		if a.Excerpt != "" {
			fmt.Fprintf(&text, "\nresponse to attempt %d:\n", a.Number)
		}
		// The bar marks lines that the receiver wrote, so that they cannot imitate lines of this program.
		for line := range strings.Lines(a.Excerpt) {
			fmt.Fprintln(&text, "| "+commandline.Printable(strings.TrimRight(line, "\r\n")))
		}
	}
	_, err := text.WriteTo(out)
	return err
}

func (a attempt) row() []string {
	duration := time.Duration(a.Duration * float64(time.Millisecond)).Round(time.Millisecond)
	status := ""
	if a.Status != 0 {
		status = strconv.Itoa(a.Status)
	}
	return []string{strconv.Itoa(a.Number), formatTime(a.At), status, duration.String(), a.Failure, a.Address}
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
