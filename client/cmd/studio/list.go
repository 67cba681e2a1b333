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

// lister iterates over the records of a list that match the flags of the command, and passes option to each request.
type lister func(ctx context.Context, c *client.Client, command *cli.Command, limit int, option client.CallOption) iter.Seq[error]

// listOf returns the lister that calls a method of the client with the parameters of a command.
func listOf[T any, P client.CallOption](
	method func(*client.Client, context.Context, ...client.CallOption) iter.Seq2[*T, error], params func(command *cli.Command, limit int) P,
) lister {
	return func(ctx context.Context, c *client.Client, command *cli.Command, limit int, option client.CallOption) iter.Seq[error] {
		return func(yield func(error) bool) {
			for _, err := range method(c, ctx, option, params(command, limit)) {
				if !yield(err) {
					return
				}
			}
		}
	}
}

// listCommand returns the command that lists records.
func (p *program) listCommand(kind, statuses string, list lister, flags ...cli.Flag) *cli.Command {
	flags = append(flags,
		&cli.StringFlag{Name: "status", Usage: "list only records with this status: " + statuses},
		&cli.StringFlag{Name: "title", Usage: "list only records whose title contains this text, in any case"},
		&cli.IntFlag{Name: "limit", Usage: "maximum number of records to list", Value: 20, Validator: positive},
		&cli.BoolFlag{Name: "all", Usage: "list all records"})
	return p.serviceLeaf("list", "list "+noun(kind)+"s, newest first", "", example(kind, "list --status failed\n  studio "+kind+" list --all --json"), flags,
		func(ctx context.Context, command *cli.Command, c *client.Client) error {
			table := p.table(command, "ID", "STATUS", "CREATED", "TITLE")
			for record, err := range records(ctx, command, c, list) {
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

// records iterates over the records that the flags select. The client requests the pages, and their JSON has all
// members of a record, whether the client knows them or not.
func records(ctx context.Context, command *cli.Command, c *client.Client, list lister) iter.Seq2[*subject, error] {
	return func(yield func(*subject, error) bool) {
		left, limit := command.Int("limit"), pageLimit
		if command.Bool("all") {
			left = math.MaxInt
		}
		var response client.Response
		var read []byte // the page that is passed on
		for err := range list(ctx, c, command, min(limit, left), client.WithResponse(&response)) {
			var page struct {
				Data []json.RawMessage `json:"data"`
			}
			if err == nil && len(read) > 0 && &read[0] == &response.Body[0] {
				continue
			}
			read = response.Body
			if err == nil {
				err = json.Unmarshal(read, &page)
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
				if left--; left == 0 {
					return
				}
			}
		}
	}
}

func avatarParams(command *cli.Command, limit int) client.ListAvatarsParams {
	return client.ListAvatarsParams{
		Limit: &limit, Status: flagValue[gen.AvatarStatus](command, "status"), Title: flagValue[gen.TitleFilter](command, "title"),
	}
}

func videoParams(command *cli.Command, limit int) client.ListVideosParams {
	return client.ListVideosParams{
		Limit: &limit, Status: flagValue[gen.InferenceStatus](command, "status"), Title: flagValue[gen.TitleFilter](command, "title"),
		AvatarID: flagValue[gen.AvatarFilter](command, "avatar"),
	}
}

func lipsyncParams(command *cli.Command, limit int) client.ListLipsyncsParams {
	return client.ListLipsyncsParams{
		Limit: &limit, Status: flagValue[gen.InferenceStatus](command, "status"), Title: flagValue[gen.TitleFilter](command, "title"),
	}
}

// flagValue returns the value of a flag, or nil if the flag was not set.
func flagValue[T ~string](command *cli.Command, name string) *T {
	if !command.IsSet(name) {
		return nil
	}
	return new(T(command.String(name)))
}
