package main

import (
	"context"
	"errors"
	"iter"
	"math"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// pageLimit is the largest page that the service returns.
const pageLimit = 100

func listFlags(k kind) []cli.Flag {
	return append(append(k.filters,
		&cli.StringFlag{Name: "status", Usage: "list only records with this status: " + k.statuses},
		&cli.StringFlag{Name: "title", Usage: "list only records whose title contains this text, in any case"}),
		limitFlags("records")...)
}

func limitFlags(what string) []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "limit", Usage: "maximum number of " + what + " to list", Value: 20, Validator: positive},
		&cli.BoolFlag{Name: "all", Usage: "list all " + what},
	}
}

func positive(n int) error {
	if n < 1 {
		return usagef("must be positive")
	}
	return nil
}

// limits returns how many records to list, and how many in a page.
func limits(command *cli.Command) (most, page int) {
	most = command.Int("limit")
	if most == 0 || command.Bool("all") {
		most = math.MaxInt
	}
	return most, min(pageLimit, most)
}

// printRows prints records as rows of a table.
func printRows[T any](table *commandline.Table, most int, records iter.Seq2[*T, error], row func(*T) []string) error {
	for record, err := range records {
		if err == nil {
			err = table.Add(record, row(record)...)
		}
		if err != nil {
			return err
		}
		if most--; most == 0 {
			break
		}
	}
	return table.Flush()
}

// list prints the records of a kind.
func (p *program) list(ctx context.Context, command *cli.Command, c *client.Client, k kind) error {
	most, limit := limits(command)
	table := p.table(command, "ID", "STATUS", "CREATED", "TITLE")
	return printRows(table, most, pages(ctx, command, c, k, limit), func(s *subject) []string {
		return []string{s.id(), s.Status, when(s.CreatedAt), title(s.Title)}
	})
}

// pages iterates over the records of all pages. It does not use [client.Client.Avatars], whose records lack the members
// that the client does not know.
func pages(ctx context.Context, command *cli.Command, c *client.Client, k kind, limit int) iter.Seq2[*subject, error] {
	return func(yield func(*subject, error) bool) {
		seen := map[string]bool{}
		for cursor := (*string)(nil); ; {
			var page struct {
				Data       []*subject `json:"data"`
				NextCursor *string    `json:"next_cursor"`
			}
			if err := sendInto(ctx, c, k.list(command, limit, cursor), &page); err != nil {
				yield(nil, err)
				return
			}
			for _, record := range page.Data {
				if !yield(record, nil) {
					return
				}
			}
			cursor = page.NextCursor
			if gen.Or(cursor, "") == "" {
				return
			}
			if seen[*cursor] { // the list would never end
				yield(nil, errors.New("the cursors of the list repeat"))
				return
			}
			seen[*cursor] = true
		}
	}
}

func listAvatars(command *cli.Command, limit int, cursor *string) request {
	return listOf((*client.Client).ListAvatars, client.ListAvatarsParams{
		Limit: &limit, Cursor: cursor, Status: flagValue[gen.AvatarStatus](command, "status"), Title: flagValue[gen.TitleFilter](command, "title"),
	})
}

func listVideos(command *cli.Command, limit int, cursor *string) request {
	return listOf((*client.Client).ListVideos, client.ListVideosParams{
		Limit: &limit, Cursor: cursor, Status: flagValue[gen.InferenceStatus](command, "status"), Title: flagValue[gen.TitleFilter](command, "title"),
		AvatarID: flagValue[gen.AvatarFilter](command, "avatar"),
	})
}

func listLipsyncs(command *cli.Command, limit int, cursor *string) request {
	return listOf((*client.Client).ListLipsyncs, client.ListLipsyncsParams{
		Limit: &limit, Cursor: cursor, Status: flagValue[gen.InferenceStatus](command, "status"), Title: flagValue[gen.TitleFilter](command, "title"),
	})
}

// listOf returns the request that calls a method of the client with parameters.
func listOf[T any](method func(*client.Client, context.Context, ...client.CallOption) (T, error), params client.CallOption) request {
	return func(ctx context.Context, c *client.Client, options ...client.CallOption) error {
		_, err := method(c, ctx, append(options, params)...)
		return err
	}
}

// flagValue returns the value of a flag, or nil if the flag was not set.
func flagValue[T ~string](command *cli.Command, name string) *T {
	if !command.IsSet(name) {
		return nil
	}
	return new(T(command.String(name)))
}

// maxTitle is the number of characters of a title in a table.
const maxTitle = 60

// title returns a title for a table. It truncates a title that is too long.
func title(text *string) string {
	runes := []rune(commandline.Printable(gen.Or(text, "")))
	if len(runes) <= maxTitle {
		return string(runes)
	}
	return string(runes[:maxTitle-1]) + "…"
}

// stamp returns a time, or "" if it is missing.
func stamp(at *time.Time) string {
	if at == nil {
		return ""
	}
	return at.Format(time.RFC3339)
}

// when returns a time in a document, in its own format if that is another one.
func when(text *string) string {
	if at, err := time.Parse(time.RFC3339, gen.Or(text, "")); err == nil {
		return stamp(&at)
	}
	return gen.Or(text, "")
}
