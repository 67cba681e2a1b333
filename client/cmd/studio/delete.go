package main

import (
	"context"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/commandline"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// deleteCommand returns the command that deletes a record. It prints nothing without --json.
func (p *program) deleteCommand(kind, what string, remove func(id string) request) *cli.Command {
	return leaf("delete", "delete the "+what+" and its files, and cancel its notifications", "ID", example(kind, "delete ID"), serviceFlags(),
		func(ctx context.Context, command *cli.Command) error {
			c, err := p.service(command)
			if err != nil {
				return err
			}
			id := command.Args().First()
			if err := remove(id)(ctx, c); err != nil || !command.Bool("json") {
				return err
			}
			return commandline.PrintJSON(p.Stdout, struct {
				ID      string `json:"id"`
				Deleted bool   `json:"deleted"`
			}{id, true})
		})
}

func deleteAvatar(id string) request {
	return func(ctx context.Context, c *client.Client, options ...client.CallOption) error {
		return c.DeleteAvatar(ctx, gen.DeleteAvatarRequest{AvatarID: id}, options...)
	}
}

func deleteVideo(id string) request {
	return func(ctx context.Context, c *client.Client, options ...client.CallOption) error {
		return c.DeleteVideo(ctx, gen.DeleteInferenceRequest{InferenceID: id}, options...)
	}
}

func deleteLipsync(id string) request {
	return func(ctx context.Context, c *client.Client, options ...client.CallOption) error {
		return c.DeleteLipsync(ctx, gen.DeleteInferenceRequest{InferenceID: id}, options...)
	}
}
