package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func workspaceCommand() *cli.Command {
	return &cli.Command{
		Name: "workspace", Usage: "add and list workspaces, and add and remove their members",
		Commands: []*cli.Command{
			leaf("add", "add a workspace and print the id", "NAME", []cli.Flag{idFlag("workspace")}, recorded(addWorkspace)),
			described(leaf("list", "list workspaces, the newest first", "", pageFlags("workspaces"), onStore(listWorkspaces)),
				`JSON fields: id, name, members (their number), created_at.

Example: studiod workspace list`),
			described(leaf("member", "add a user to a workspace, or remove one", "WORKSPACE_ID EMAIL", []cli.Flag{
				&cli.BoolFlag{Name: "remove", Usage: "remove the user, whose API keys for the workspace are then refused; projects of the user stay in the workspace, and the user can still change and delete them"},
			}, onStudio(changeMember)),
				`"studiod user list --workspace WORKSPACE_ID" lists the members.

Example: studiod workspace member 01936f3e-7c00-7a3b-8c44-2f6f1f0a9d10 ada@example.com`),
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
				recorded(secrets((*studio.Service).RotateWebhookSecret))),
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
	return withNew(ctx, command, func(service *studio.Service) error {
		workspace, err := service.AddWorkspace(ctx, command.String("id"), command.Args().First())
		if err != nil {
			return explain(err, "workspace")
		}
		return printLines(command, workspace.ID)
	})
}

func changeMember(ctx context.Context, command *cli.Command, service *studio.Service) error {
	workspaceID, email := command.Args().Get(0), command.Args().Get(1)
	by := studio.User{Email: byCommand}
	if command.Bool("remove") {
		return revoked(ctx, explain(service.ChangeMember(ctx, by, workspaceID, email, false), "member of this workspace"))
	}
	return explain(service.ChangeMember(ctx, by, workspaceID, email, true), "workspace or user")
}

func listWorkspaces(ctx context.Context, command *cli.Command, db *store.Store) error {
	return columns[store.Membership]{
		{"id", "ID", func(w store.Membership) any { return w.ID }},
		{"created_at", "CREATED", func(w store.Membership) any { return w.CreatedAt }},
		{"members", "MEMBERS", func(w store.Membership) any { return w.Members }},
		{"name", "NAME", func(w store.Membership) any { return w.Name }},
	}.page(ctx, command, "no workspaces", db.AllWorkspaces)
}

func secrets(get func(*studio.Service, context.Context, string) ([]studio.WebhookSecret, error)) cli.ActionFunc {
	return onStore(func(ctx context.Context, command *cli.Command, db *store.Store) error {
		if _, err := db.Keys(ctx); err != nil { // without the key, a new secret would be plain text beside those that are encrypted
			return err
		}
		service := studio.New(studio.Config{Store: db, Passwords: passwordsOf(command)})
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

func printLines(command *cli.Command, lines ...string) error {
	_, err := fmt.Fprintln(command.Root().Writer, strings.Join(lines, "\n"))
	return err
}
