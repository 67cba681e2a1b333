package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/commandline"
)

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print one JSON object per line"}
}

// printList prints one JSON object per item with --json. Without --json it prints a table, or a message if
// there are no items.
func printList[T any](command *cli.Command, items []T, none string, header []string, row func(T) []string) error {
	out := command.Root().Writer
	if command.Bool("json") {
		for _, item := range items {
			if err := commandline.PrintJSON(out, item); err != nil {
				return err
			}
		}
		return nil
	}
	if len(items) == 0 {
		return printNote(command, none)
	}
	rows := [][]string{header}
	for _, item := range items {
		rows = append(rows, row(item))
	}
	return printTable(out, rows...)
}

// maxListed is the maximum of --limit, because a list is in memory.
const maxListed = 1000

// pageFlags returns the flags of a list that [printPage] prints.
func pageFlags(items string) []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{
			Name: "limit", Usage: fmt.Sprintf("maximum number of %s (1 to %d)", items, maxListed), Value: 50,
			Validator: between(1, maxListed),
		},
		&cli.StringFlag{Name: "after", Usage: "list " + items + " after the one with this `ID`, the last one of the previous page", Validator: checkID},
		jsonFlag(),
	}
}

// printPage prints the items of a list that begins after --after. read returns up to limit of them.
func printPage[T any](command *cli.Command, read func(after string, limit int) ([]T, error), id func(T) string, none string, header []string, row func(T) []string) error {
	limit := command.Int("limit")
	items, err := read(command.String("after"), limit+1)
	if err != nil {
		return err
	}
	more := len(items) > limit
	items = items[:min(len(items), limit)]
	if err := printList(command, items, none, header, row); err != nil || !more {
		return err
	}
	return printNote(command, "there are more: --after "+id(items[limit-1]))
}

// printNote prints a note for the user to stderr, because it is not part of the output.
func printNote(command *cli.Command, text string) error {
	_, err := fmt.Fprintln(command.Root().ErrWriter, text)
	return err
}

// printTable prints rows with aligned columns. It escapes characters that could control a terminal.
func printTable(out io.Writer, rows ...[]string) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = printable(cell)
		}
		_, _ = fmt.Fprintln(table, strings.Join(row, "\t")) // Flush returns write errors
	}
	return table.Flush()
}

// printable returns text unchanged, or quoted if it contains characters that are not visible.
func printable(text string) string {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }
	if strings.ContainsFunc(text, hidden) {
		return strconv.Quote(text)
	}
	return text
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// dash returns "-" in place of an empty or zero value.
func dash(text string) string {
	if text == "" || text == "0" {
		return "-"
	}
	return text
}
