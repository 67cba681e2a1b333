package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func workspaceCommand() *cli.Command {
	return &cli.Command{
		Name: "workspace", Usage: "add workspaces and their members",
		Commands: []*cli.Command{
			leaf("add", "add a workspace and print the id", "NAME", []cli.Flag{idFlag("workspace")}, addWorkspace),
			leaf("member", "add a user to a workspace", "WORKSPACE_ID EMAIL", nil, addMember),
		},
	}
}

func secretCommand() *cli.Command {
	return &cli.Command{
		Name: "secret", Usage: "show and rotate the secrets that sign a user's webhooks",
		Commands: []*cli.Command{
			leaf("show", "print the valid secrets, newest first", "EMAIL", nil,
				secrets((*studio.Service).WebhookSecretsInForce)),
			leaf("rotate", "add a secret; webhooks are also signed with the previous secrets for 24 hours", "EMAIL", nil,
				secrets((*studio.Service).RotateWebhookSecret)),
		},
	}
}

func idFlag(of string) cli.Flag {
	return &cli.StringFlag{
		Name: "id", Usage: "UUID of the " + of + ", such as its id in another service", DefaultText: "a new one",
		Validator: checkID,
	}
}

func checkID(text string) error {
	if id, err := uuid.Parse(text); err != nil || id.String() != text {
		return errors.New("must be a UUID in lower case")
	}
	return nil
}

func addWorkspace(ctx context.Context, command *cli.Command) error {
	name := strings.TrimSpace(command.Args().First())
	if name == "" {
		return usagef("the name of the workspace is empty")
	}
	return withStudio(ctx, command, true, func(service *studio.Service) error {
		workspace, err := service.AddWorkspace(ctx, command.String("id"), name)
		if err != nil {
			return explain(err, "workspace")
		}
		return printLines(command, workspace.ID)
	})
}

func addMember(ctx context.Context, command *cli.Command) error {
	return withStudio(ctx, command, false, func(service *studio.Service) error {
		return explain(service.AddMember(ctx, command.Args().Get(0), command.Args().Get(1)), "workspace or user")
	})
}

func secrets(get func(*studio.Service, context.Context, string) ([]studio.WebhookSecret, error)) cli.ActionFunc {
	return func(ctx context.Context, command *cli.Command) error {
		return withStudio(ctx, command, false, func(service *studio.Service) error {
			user, err := service.UserByEmail(ctx, command.Args().First())
			if err != nil {
				return explain(err, "user")
			}
			secrets, err := get(service, ctx, user.ID)
			if err != nil {
				return err
			}
			lines := make([]string, len(secrets))
			for i, secret := range secrets {
				lines[i] = secret.Secret
			}
			return printLines(command, lines...)
		})
	}
}

func printLines(command *cli.Command, lines ...string) error {
	_, err := fmt.Fprintln(command.Root().Writer, strings.Join(lines, "\n"))
	return err
}
