package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	endpointPage = 100 // how many endpoints of a user are read at once
	maxTroubled  = 1000
)

func endpointCommand() *cli.Command {
	user := func(usage string) cli.Flag { return &cli.StringFlag{Name: "user", Usage: usage} }
	return &cli.Command{
		Name: "endpoint", Usage: "list, pause and enable webhook URLs",
		Commands: []*cli.Command{
			described(leaf("list", "list the URLs that fail, that are paused, or that are disabled after a response with 410",
				"", []cli.Flag{user("list all URLs of the user with this `EMAIL` instead"), jsonFlag()}, listEndpoints),
				`Up to 1,000 URLs are listed without --user. JSON fields: id, user_id, email, webhook_url (without its query), state
(ok, failing, paused or disabled), since, reason, waiting, exhausted (the events in this state), last_success_at.

Example: studiod endpoint list --user ada@example.com`),
			described(leaf("pause", "let the events for a URL of a user wait, in their order", "ID", []cli.Flag{user("the `EMAIL` of the user"), jsonFlag()},
				setEndpoint(false)),
				`ID is an id of "studiod endpoint list --user". The user can end the pause, too.

Example: studiod endpoint pause --user ada@example.com 5f1c0e9a7b3d24685f1c0e9a7b3d2468`),
			described(leaf("enable", "enable a URL again; missed events can then be replayed", "ID",
				[]cli.Flag{user("the `EMAIL` of the user, if the URL is not in the list without --user"), jsonFlag()}, setEndpoint(true)),
				`ID is an id of "studiod endpoint list". The argument is not the URL, because its query may contain a
secret. With --json, the endpoint is printed as in the list.

Example: studiod endpoint enable 5f1c0e9a7b3d24685f1c0e9a7b3d2468`),
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

// withEndpoints opens the database like withStore. The endpoints of the service have the IDs of the API.
func withEndpoints(ctx context.Context, command *cli.Command, do func(*studio.Service) error) error {
	return withStore(ctx, command, false, func(db *store.Store) error {
		key, err := db.Key(ctx, serviceKeyName, newKey)
		if err != nil {
			return err
		}
		return do(studio.New(studio.Config{Store: db, Key: key}))
	})
}

// endpoints returns all endpoints of the user in --user, or those of all users that have trouble.
func endpoints(ctx context.Context, command *cli.Command, service *studio.Service) (all []studio.Endpoint, err error) {
	if !command.IsSet("user") {
		return service.TroubledEndpoints(ctx, maxTroubled)
	}
	user, err := userOf(ctx, command, service)
	if err != nil {
		return nil, err
	}
	for cursor, more := "", true; more; more = cursor != "" {
		page, err := service.Endpoints(ctx, user.ID, cursor, endpointPage)
		if err != nil {
			return nil, err
		}
		all, cursor = append(all, page.Endpoints...), page.Next
	}
	return all, nil
}

func listEndpoints(ctx context.Context, command *cli.Command) error {
	return withEndpoints(ctx, command, func(service *studio.Service) error {
		found, err := endpoints(ctx, command, service)
		if err != nil {
			return err
		}
		none := "no URLs that fail, are disabled or are paused"
		if command.IsSet("user") {
			none = "no webhook URLs"
		}
		return endpointColumns().list(command, found, none)
	})
}

// setEndpoint enables or pauses an endpoint.
func setEndpoint(enabled bool) cli.ActionFunc {
	return func(ctx context.Context, command *cli.Command) error {
		id := command.Args().First()
		if _, err := hex.DecodeString(id); err != nil || id == "" {
			return usagef("the ID must be one of \"studiod endpoint list\"") // the error must not show the argument, which may be a URL
		}
		if !enabled && !command.IsSet("user") {
			return usagef("set --user")
		}
		return withEndpoints(ctx, command, func(service *studio.Service) error {
			e, err := changeEndpoint(ctx, command, service, id, enabled)
			switch {
			case errors.Is(err, studio.ErrNotFound):
				return fmt.Errorf("no endpoint with the id %s", id)
			case err != nil:
				return err
			case command.Bool("json"):
				return endpointColumns().list(command, []studio.Endpoint{e}, "")
			}
			state := "on"
			if e.State == studio.EndpointPaused {
				state = "paused"
			}
			return printLines(command, commandline.Printable(studio.WithoutQuery(e.URL))+" of "+commandline.Printable(e.Email)+" is "+state)
		})
	}
}

// changeEndpoint enables or pauses an endpoint of the user in --user. Without --user, it enables one that has trouble.
func changeEndpoint(ctx context.Context, command *cli.Command, service *studio.Service, id string, enabled bool) (e studio.Endpoint, err error) {
	userID := ""
	if command.IsSet("user") {
		user, err := userOf(ctx, command, service)
		if err != nil {
			return e, err
		}
		userID = user.ID
	} else {
		all, err := endpoints(ctx, command, service)
		if err != nil {
			return e, err
		}
		i := slices.IndexFunc(all, func(e studio.Endpoint) bool { return e.ID == id })
		if i < 0 {
			return e, studio.ErrNotFound
		}
		userID = all[i].UserID
	}
	return service.SetEndpoint(ctx, userID, id, enabled)
}

// userOf returns the user in --user.
func userOf(ctx context.Context, command *cli.Command, service *studio.Service) (studio.User, error) {
	user, err := service.UserByEmail(ctx, command.String("user"))
	return user, explain(err, "user")
}
