package main

import (
	"context"
	"encoding/json"
	"iter"
	"math"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// pageLimit is the largest page that the service returns.
const pageLimit = 100

func listFlags(k kind) []cli.Flag {
	return append(k.filters,
		&cli.StringFlag{Name: "status", Usage: "list only records with this status: " + k.statuses},
		&cli.StringFlag{Name: "title", Usage: "list only records whose title contains this text, in any case"},
		&cli.IntFlag{Name: "limit", Usage: "maximum number of records to list", Value: 20, Validator: positive},
		&cli.BoolFlag{Name: "all", Usage: "list all records"})
}

func positive(n int) error {
	if n < 1 {
		return usagef("must be positive")
	}
	return nil
}

// list prints the records of a kind.
func (p *program) list(ctx context.Context, command *cli.Command, c *client.Client, k kind) error {
	table := p.table(command, "ID", "STATUS", "CREATED", "TITLE")
	for record, err := range records(ctx, command, c, k) {
		if err == nil {
			err = table.Add(json.RawMessage(record.document), record.id(), record.Status, stamp(record.CreatedAt), title(record.Title))
		}
		if err != nil {
			return err
		}
	}
	return table.Flush()
}

// records iterates over the records that the flags select. The JSON of a page has all members of a record, whether the
// client knows them or not.
func records(ctx context.Context, command *cli.Command, c *client.Client, k kind) iter.Seq2[*subject, error] {
	return func(yield func(*subject, error) bool) {
		left := command.Int("limit")
		if command.Bool("all") {
			left = math.MaxInt
		}
		limit := min(pageLimit, left)
		for more, cursor := true, (*string)(nil); more; {
			var page struct {
				Data       []json.RawMessage `json:"data"`
				NextCursor *string           `json:"next_cursor"`
			}
			if err := sendInto(ctx, c, k.list(command, limit, cursor), &page); err != nil {
				yield(nil, err)
				return
			}
			for _, document := range page.Data {
				record := &subject{document: document}
				if err := json.Unmarshal(document, record); !yield(record, err) || err != nil {
					return
				}
				if left--; left == 0 {
					return
				}
			}
			cursor = page.NextCursor
			more = gen.Or(cursor, "") != ""
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
