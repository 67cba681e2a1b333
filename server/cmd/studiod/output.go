package main

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
)

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print one JSON object per line"}
}

// columns describe how the items of a list are printed: as JSON objects with --json, and otherwise as a table. The
// first is the ID.
type columns[T any] []struct {
	// member is the name in JSON, or "" for a column of the table only. With "?" at the end, a zero value is omitted,
	// and a "-" in the table.
	member string
	header string // of the table; "" for a member of the JSON only
	value  func(T) any
}

// list prints items, or a message to stderr if there are none to show in a table.
func (c columns[T]) list(command *cli.Command, items []T, none string) error {
	asJSON := command.Bool("json")
	if len(items) == 0 && !asJSON {
		return printNote(command, none)
	}
	var header []string
	for _, column := range c {
		if column.header != "" {
			header = append(header, column.header)
		}
	}
	table := commandline.NewTable(command.Root().Writer, asJSON, header...)
	for _, item := range items {
		if err := table.Add(c.object(item), c.row(item)...); err != nil {
			return err
		}
	}
	return table.Flush()
}

// page prints the items of a list that begins after --after. read returns up to limit of them.
func (c columns[T]) page(
	ctx context.Context, command *cli.Command, none string, read func(ctx context.Context, after string, limit int) ([]T, error),
) error {
	limit := command.Int("limit")
	items, err := read(ctx, command.String("after"), limit+1)
	if err != nil {
		return err
	}
	more := len(items) > limit
	items = items[:min(len(items), limit)]
	if err := c.list(command, items, none); err != nil || !more {
		return err
	}
	return printNote(command, fmt.Sprintf("there are more: --after %v", c[0].value(items[limit-1])))
}

// object returns the members of an item in JSON.
func (c columns[T]) object(item T) map[string]any {
	members := make(map[string]any)
	for _, column := range c {
		name, optional := strings.CutSuffix(column.member, "?")
		if value := column.value(item); name != "" && (!optional || !isZero(value)) {
			members[name] = value
		}
	}
	return members
}

func (c columns[T]) row(item T) (cells []string) {
	for _, column := range c {
		value := column.value(item)
		switch at, isTime := value.(time.Time); {
		case column.header == "":
		case isTime:
			cells = append(cells, formatTime(at))
		case strings.HasSuffix(column.member, "?") && isZero(value):
			cells = append(cells, "")
		default:
			cells = append(cells, fmt.Sprint(value))
		}
	}
	return cells
}

func isZero(value any) bool {
	at, isTime := value.(time.Time)
	return isTime && at.IsZero() || reflect.ValueOf(value).IsZero()
}

// maxListed is the maximum of --limit, because a list is in memory.
const maxListed = 1000

// pageFlags returns the flags of a list that [columns.page] prints.
func pageFlags(items string) []cli.Flag {
	return []cli.Flag{
		ranged(&cli.IntFlag{Name: "limit", Usage: "maximum number of " + items, Value: 50}, 1, maxListed),
		&cli.StringFlag{Name: "after", Usage: "list " + items + " after the one with this `ID`, the last one of the previous page", Validator: checkID},
		jsonFlag(),
	}
}

// printNote prints a note for the user to stderr, because it is not part of the output.
func printNote(command *cli.Command, text string) error {
	_, err := fmt.Fprintln(command.Root().ErrWriter, text)
	return err
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}
