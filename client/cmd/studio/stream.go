package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/client"
)

// streamCommand returns the command that prints a stream of any format.
func (p *program) streamCommand() *cli.Command {
	return p.serviceLeaf("stream", "print each item of a stream as it arrives; PATH is that of an operation", "PATH",
		"  studio stream /v1/ticks/events\n  studio stream --after 17 --json \"/v1/ticks/events?limit=3\"",
		[]cli.Flag{
			&cli.StringFlag{Name: "after", Usage: "print only events after the one with this id"},
			&cli.StringFlag{Name: "method", Usage: "method of the operation", Value: http.MethodGet},
			&cli.StringFlag{Name: "body", Usage: "body of the request in JSON"},
		},
		func(ctx context.Context, command *cli.Command, c *client.Client) error {
			path := command.Args().First()
			if !strings.HasPrefix(path, "/") {
				return usagef("PATH must begin with a slash")
			}
			var body json.RawMessage
			if text := command.String("body"); text != "" {
				if body = json.RawMessage(text); !json.Valid(body) {
					return usagef("--body must be JSON")
				}
			}
			var options []client.CallOption
			if id := command.String("after"); id != "" {
				options = append(options, client.After(id))
			}
			for event, err := range c.Raw(ctx, command.String("method"), path, body, options...) {
				if err != nil {
					return err
				}
				if command.Bool("json") {
					err = commandline.PrintJSON(p.Stdout, streamItem{event.ID, event.Event, event.Retry.Milliseconds(), dataOf(event.Data)})
				} else {
					_, err = fmt.Fprintln(p.Stdout, commandline.Printable(event.Data))
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
}

// streamItem is an item in JSON.
type streamItem struct {
	ID    string `json:"id,omitempty"`
	Event string `json:"event,omitempty"`
	Retry int64  `json:"retry,omitempty"` // in milliseconds
	Data  any    `json:"data"`
}

// dataOf returns JSON as it is, and other data as a string.
func dataOf(text string) any {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}
