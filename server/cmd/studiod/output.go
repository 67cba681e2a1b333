package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/commandline"
)

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print one JSON object per line"}
}

// printList prints the printed form of each item: one JSON object per item with --json. Without --json it prints a table,
// or a message if there are no items.
func printList[T, P any](command *cli.Command, items []T, printed func(T) P, none string, header []string, row func(P) []string) error {
	json := command.Bool("json")
	if len(items) == 0 && !json {
		return printNote(command, none)
	}
	table := commandline.NewTable(command.Root().Writer, json, header...)
	for _, item := range items {
		form := printed(item)
		if err := table.Add(form, row(form)...); err != nil {
			return err
		}
	}
	return table.Flush()
}

// maxListed is the maximum of --limit, because a list is in memory.
const maxListed = 1000

// pageFlags returns the flags of a list that [printPage] prints.
func pageFlags(items string) []cli.Flag {
	return []cli.Flag{
		ranged(&cli.IntFlag{Name: "limit", Usage: "maximum number of " + items, Value: 50}, 1, maxListed),
		&cli.StringFlag{Name: "after", Usage: "list " + items + " after the one with this `ID`, the last one of the previous page", Validator: checkID},
		jsonFlag(),
	}
}

// printPage prints the items of a list that begins after --after. read returns up to limit of them.
func printPage[T, P any](
	ctx context.Context, command *cli.Command, read func(ctx context.Context, after string, limit int) ([]T, error), id func(T) string,
	printed func(T) P, none string, header []string, row func(P) []string,
) error {
	limit := command.Int("limit")
	items, err := read(ctx, command.String("after"), limit+1)
	if err != nil {
		return err
	}
	more := len(items) > limit
	items = items[:min(len(items), limit)]
	if err := printList(command, items, printed, none, header, row); err != nil || !more {
		return err
	}
	return printNote(command, "there are more: --after "+id(items[limit-1]))
}

// printNote prints a note for the user to stderr, because it is not part of the output.
func printNote(command *cli.Command, text string) error {
	_, err := fmt.Fprintln(command.Root().ErrWriter, text)
	return err
}

// printTable prints rows with aligned columns.
func printTable(out io.Writer, rows ...[]string) error {
	table := commandline.NewTable(out, false)
	for _, row := range rows {
		_ = table.Add(nil, row...) // Flush returns write errors
	}
	return table.Flush()
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// nonZero returns a number, or "" if it is zero.
func nonZero(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}
