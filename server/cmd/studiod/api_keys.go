package main

import (
	"context"
	"errors"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func apiKeyCommand() *cli.Command {
	return &cli.Command{
		Name: "key", Usage: "add, list and revoke the API keys of a user, with which programs call the service",
		Commands: []*cli.Command{
			described(leaf("add", "add a key and print it; it is not shown again", "EMAIL NAME", []cli.Flag{
				&cli.BoolFlag{Name: "read-only", Usage: "the key cannot change anything, and not read webhook secrets"},
				&cli.StringFlag{Name: "workspace", Usage: "the key sees records and events of the workspace with this `ID` only, and may not do what concerns the whole account", Validator: checkID},
				ranged(&cli.DurationFlag{
					Name: "expires-in", Usage: "lifetime of the key, such as 2160h", DefaultText: "no limit",
				}, time.Second, 87600*time.Hour),
			}, recorded(onUser(addAPIKey))), `A program sends the key as a Bearer token, like an access token. NAME says what it is for.

Example: studiod key add ada@example.com "nightly batch" --expires-in 2160h`),
			described(leaf("list", "list the keys of a user, the newest first", "EMAIL", []cli.Flag{jsonFlag()}, onUser(listAPIKeys)),
				`JSON fields: id, name, scope (read or write), workspace_id, created_at, expires_at, used_at (in minutes).

Example: studiod key list ada@example.com`),
			described(leaf("revoke", "revoke a key of a user, and end the streams that it opened", "EMAIL ID", nil, recorded(onUser(revokeAPIKey))),
				`ID is an id of "studiod key list". No daemon accepts the key when the command ends.

Example: studiod key revoke ada@example.com 01936f3e-7c00-7a3b-8c44-2f6f1f0a9d10`),
		},
	}
}

func addAPIKey(ctx context.Context, command *cli.Command, service *studio.Service, user studio.User) error {
	key := studio.APIKey{
		UserID: user.ID, Name: command.Args().Get(1), ReadOnly: command.Bool("read-only"), WorkspaceID: command.String("workspace"),
	}
	if lifetime := command.Duration("expires-in"); lifetime > 0 {
		key.ExpiresAt = time.Now().Add(lifetime)
	}
	_, secret, err := service.AddAPIKey(ctx, key)
	switch {
	case errors.Is(err, studio.ErrForbidden):
		return usagef("the user is not a member of this workspace")
	case err != nil:
		return explain(err, "user")
	}
	return printLines(command, secret)
}

func listAPIKeys(ctx context.Context, command *cli.Command, service *studio.Service, user studio.User) error {
	keys, err := service.APIKeys(ctx, user.ID)
	if err != nil {
		return err
	}
	return columns[studio.APIKey]{
		{"id", "ID", func(k studio.APIKey) any { return k.ID }},
		{"created_at", "CREATED", func(k studio.APIKey) any { return k.CreatedAt }},
		{"scope", "SCOPE", func(k studio.APIKey) any {
			if k.ReadOnly {
				return "read"
			}
			return "write"
		}},
		{"workspace_id?", "WORKSPACE", func(k studio.APIKey) any { return k.WorkspaceID }},
		{"expires_at?", "EXPIRES", func(k studio.APIKey) any { return k.ExpiresAt }},
		{"used_at?", "LAST USED", func(k studio.APIKey) any { return k.UsedAt }},
		{"name", "NAME", func(k studio.APIKey) any { return k.Name }},
	}.list(command, keys, "no keys")
}

func revokeAPIKey(ctx context.Context, command *cli.Command, service *studio.Service, user studio.User) error {
	return revoked(ctx, explain(service.RevokeAPIKey(ctx, user.ID, command.Args().Get(1)), "key"))
}
