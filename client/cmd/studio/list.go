package main

import (
	"context"
	"encoding/json"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// pageLimit is the largest page that the service returns.
const pageLimit = 100

// pageRequest requests one page of a list.
type pageRequest func(ctx context.Context, c *client.Client, command *cli.Command, limit int, cursor *string, option client.CallOption) error

// listCommand returns the command that lists records. list requests a page.
func (p *program) listCommand(kind, statuses string, list pageRequest, flags ...cli.Flag) *cli.Command {
	flags = append(flags,
		&cli.StringFlag{Name: "status", Usage: "list only records with this status: " + statuses},
		&cli.IntFlag{Name: "limit", Usage: "maximum number of records to list", Value: 20, Validator: positive},
		&cli.BoolFlag{Name: "all", Usage: "list all records"})
	return p.serviceLeaf("list", "list "+noun(kind)+"s, newest first", "", example(kind, "list --status failed\n  studio "+kind+" list --all --json"), flags,
		func(ctx context.Context, command *cli.Command, c *client.Client) error {
			table := p.table(command, "ID", "STATUS", "CREATED", "TITLE")
			for record, err := range p.records(ctx, command, c, list) {
				if err == nil {
					err = table.Add(json.RawMessage(record.document), record.id(), record.Status, stamp(record.CreatedAt), title(record.Title))
				}
				if err != nil {
					return err
				}
			}
			return table.Flush()
		})
}

func positive(n int) error {
	if n < 1 {
		return usagef("must be positive")
	}
	return nil
}

// records iterates over the records of a list. Unlike [client.Client.Avatars], it keeps the JSON of each
// record, so that all its members can be printed.
func (p *program) records(ctx context.Context, command *cli.Command, c *client.Client, list pageRequest) func(func(*subject, error) bool) {
	return func(yield func(*subject, error) bool) {
		left, all := command.Int("limit"), command.Bool("all")
		for cursor := (*string)(nil); all || left > 0; {
			limit := pageLimit
			if !all {
				limit = min(limit, left)
			}
			var response client.Response
			var page struct {
				Data       []json.RawMessage `json:"data"`
				NextCursor *string           `json:"next_cursor"`
			}
			err := list(ctx, c, command, limit, cursor, client.WithResponse(&response))
			if err == nil {
				err = json.Unmarshal(response.Body, &page)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for _, document := range page.Data {
				record := &subject{document: document}
				if err := json.Unmarshal(document, record); !yield(record, err) || err != nil {
					return
				}
			}
			left -= len(page.Data)
			if cursor = page.NextCursor; cursor == nil || len(page.Data) == 0 {
				return
			}
		}
	}
}

func listAvatars(ctx context.Context, c *client.Client, command *cli.Command, limit int, cursor *string, option client.CallOption) error {
	_, err := c.ListAvatars(ctx, option, client.ListAvatarsParams{
		Limit: &limit, Cursor: cursor, Status: flagValue[gen.AvatarStatus](command, "status"),
	})
	return err
}

func listVideos(ctx context.Context, c *client.Client, command *cli.Command, limit int, cursor *string, option client.CallOption) error {
	_, err := c.ListVideos(ctx, option, client.ListVideosParams{
		Limit: &limit, Cursor: cursor, Status: flagValue[gen.InferenceStatus](command, "status"),
		AvatarID: flagValue[gen.AvatarFilter](command, "avatar"),
	})
	return err
}

func listLipsyncs(ctx context.Context, c *client.Client, command *cli.Command, limit int, cursor *string, option client.CallOption) error {
	_, err := c.ListLipsyncs(ctx, option, client.ListLipsyncsParams{
		Limit: &limit, Cursor: cursor, Status: flagValue[gen.InferenceStatus](command, "status"),
	})
	return err
}

// flagValue returns the value of a flag, or nil if the flag was not set.
func flagValue[T ~string](command *cli.Command, name string) *T {
	if !command.IsSet(name) {
		return nil
	}
	return new(T(command.String(name)))
}
