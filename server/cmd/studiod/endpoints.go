package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func endpointCommand() *cli.Command {
	user := &cli.StringFlag{Name: "user", Usage: "the `EMAIL` of the user", Required: true}
	return &cli.Command{
		Name: "endpoint", Usage: "list, pause and enable webhook URLs",
		Commands: []*cli.Command{
			described(leaf("list", "list the URLs that fail, that are paused, or that are disabled after a response with 410", "", []cli.Flag{
				&cli.StringFlag{Name: "user", Usage: "list all URLs of the user with this `EMAIL` instead"}, jsonFlag(),
			}, onEndpoints(listEndpoints)),
				`Up to 1,000 URLs are listed without --user. JSON fields: id, user_id, email, webhook_url (without its query), state
(ok, failing, paused or disabled), since, reason, waiting, exhausted (the events in this state), last_success_at.

Example: studiod endpoint list --user ada@example.com`),
			described(leaf("pause", "let the events for a URL of a user wait, in their order", "ID", []cli.Flag{user}, recorded(setEndpoint(false))),
				`ID is an id of "studiod endpoint list". The user can end the pause, too.

Example: studiod endpoint pause --user ada@example.com 5f1c0e9a7b3d24685f1c0e9a7b3d2468`),
			described(leaf("enable", "enable a URL of a user again; missed events can then be replayed", "ID", []cli.Flag{user}, recorded(setEndpoint(true))),
				`ID is an id of "studiod endpoint list". The argument is not the URL, because its query may contain a secret.

Example: studiod endpoint enable --user ada@example.com 5f1c0e9a7b3d24685f1c0e9a7b3d2468`),
		},
	}
}

func described(command *cli.Command, description string) *cli.Command {
	command.Description = description
	return command
}

func endpointColumns() columns[studio.Endpoint] {
	return columns[studio.Endpoint]{
		{"id", "ID", func(e studio.Endpoint) any { return e.ID }},
		{"user_id", "", func(e studio.Endpoint) any { return e.UserID }},
		{"email", "USER", func(e studio.Endpoint) any { return e.Email }},
		{"state", "", func(e studio.Endpoint) any { return e.State }},
		{"reason?", "", func(e studio.Endpoint) any { return e.DisabledReason }},
		{"", "STATE", func(e studio.Endpoint) any { return withReason(e.State, e.DisabledReason) }},
		{"since?", "SINCE", func(e studio.Endpoint) any {
			return map[studio.EndpointState]time.Time{
				studio.EndpointFailing: e.FailingSince, studio.EndpointPaused: e.PausedAt, studio.EndpointDisabled: e.DisabledAt,
			}[e.State]
		}},
		{"waiting?", "WAITING", func(e studio.Endpoint) any { return e.Waiting }},
		{"exhausted?", "EXHAUSTED", func(e studio.Endpoint) any { return e.Exhausted }},
		{"last_success_at?", "LAST SUCCESS", func(e studio.Endpoint) any { return e.LastSuccessAt }},
		{"webhook_url", "URL", func(e studio.Endpoint) any { return studio.WithoutQuery(e.URL) }},
	}
}

// onEndpoints is like onStudio for endpoints, which have the IDs of the API.
func onEndpoints(do func(context.Context, *cli.Command, *studio.Service) error) cli.ActionFunc {
	return onStore(func(ctx context.Context, command *cli.Command, db *store.Store) error {
		key, err := db.Key(ctx, serviceKeyName, newKey)
		if err != nil {
			return err
		}
		return do(ctx, command, studio.New(studio.Config{Store: db, Key: key}))
	})
}

// userOf returns the user in --user.
func userOf(ctx context.Context, command *cli.Command, service *studio.Service) (studio.User, error) {
	user, err := service.UserByEmail(ctx, command.String("user"))
	return user, explain(err, "user")
}

// listEndpoints lists all endpoints of the user in --user, or those of all users that have trouble.
func listEndpoints(ctx context.Context, command *cli.Command, service *studio.Service) error {
	if !command.IsSet("user") {
		troubled, err := service.TroubledEndpoints(ctx, maxListed)
		if err != nil {
			return err
		}
		return endpointColumns().list(command, troubled, "no URLs that fail, are disabled or are paused")
	}
	user, err := userOf(ctx, command, service)
	if err != nil {
		return err
	}
	var all []studio.Endpoint
	for cursor, more := "", true; more; more = cursor != "" {
		page, err := service.Endpoints(ctx, user.ID, cursor, maxListed) // each page counts the user's events
		if err != nil {
			return err
		}
		all, cursor = append(all, page.Endpoints...), page.Next
	}
	return endpointColumns().list(command, all, "no webhook URLs")
}

// setEndpoint enables or pauses an endpoint of the user in --user.
func setEndpoint(enabled bool) cli.ActionFunc {
	return onEndpoints(func(ctx context.Context, command *cli.Command, service *studio.Service) error {
		id := command.Args().First()
		if _, err := hex.DecodeString(id); err != nil || id == "" {
			return usagef("the ID must be one of \"studiod endpoint list\"") // the error must not show the argument, which may be a URL
		}
		user, err := userOf(ctx, command, service)
		if err != nil {
			return err
		}
		e, err := service.SetEndpoint(ctx, user.ID, id, enabled)
		if errors.Is(err, studio.ErrNotFound) {
			return fmt.Errorf("the user has no endpoint with the id %s", id)
		}
		if err != nil {
			return err
		}
		state := "on"
		if e.State == studio.EndpointPaused {
			state = "paused"
		}
		return printLines(command, commandline.Printable(studio.WithoutQuery(e.URL))+" of "+commandline.Printable(e.Email)+" is "+state)
	})
}
