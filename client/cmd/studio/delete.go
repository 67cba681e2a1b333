package main

import (
	"context"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// deleteCommand returns the command that deletes a record. It prints nothing without --json.
func (p *program) deleteCommand(kind, what string, remove func(ctx context.Context, c *client.Client, id string) error) *cli.Command {
	return p.serviceLeaf("delete", "delete the "+what+" and its files, and cancel its notifications", "ID", example(kind, "delete ID"), nil,
		func(ctx context.Context, command *cli.Command, c *client.Client) error {
			id := command.Args().First()
			if err := remove(ctx, c, id); err != nil || !command.Bool("json") {
				return err
			}
			return commandline.PrintJSON(p.Stdout, struct {
				ID      string `json:"id"`
				Deleted bool   `json:"deleted"`
			}{id, true})
		})
}

func deleteAvatar(ctx context.Context, c *client.Client, id string) error {
	return c.DeleteAvatar(ctx, gen.DeleteAvatarRequest{AvatarID: id})
}

func deleteVideo(ctx context.Context, c *client.Client, id string) error {
	return c.DeleteVideo(ctx, gen.DeleteInferenceRequest{InferenceID: id})
}

func deleteLipsync(ctx context.Context, c *client.Client, id string) error {
	return c.DeleteLipsync(ctx, gen.DeleteInferenceRequest{InferenceID: id})
}
