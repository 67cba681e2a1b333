package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/commandline"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	endpointKeyName = "endpoint-id"
	endpointIDBytes = 8
)

func endpointCommand() *cli.Command {
	return &cli.Command{
		Name: "endpoint", Usage: "list and enable disabled webhook URLs",
		Commands: []*cli.Command{
			described(leaf("list", "list the URLs that are disabled because the receiver responded with 410 (gone), latest first",
				"", []cli.Flag{jsonFlag()}, listEndpoints),
				`JSON fields: id, user_id, email, webhook_url (without its query), disabled_at, reason.

Example: studiod endpoint list`),
			described(leaf("enable", "enable a URL again; missed events can then be replayed", "ID", []cli.Flag{jsonFlag()}, enableEndpoint),
				`ID is an id of "studiod endpoint list". The argument is not the URL, because its query may contain a
secret. With --json, the endpoint is printed as in the list.

Example: studiod endpoint enable 5f1c0e9a7b3d2468`),
		},
	}
}

func described(command *cli.Command, description string) *cli.Command {
	command.Description = description
	return command
}

// endpoint is the printed form of an endpoint.
type endpoint struct {
	ID         string        `json:"id"`
	UserID     string        `json:"user_id"`
	Email      string        `json:"email"`
	WebhookURL string        `json:"webhook_url"`
	DisabledAt time.Time     `json:"disabled_at"`
	Reason     studio.Reason `json:"reason"`

	url string
}

func endpoints(ctx context.Context, db *store.Store) ([]endpoint, error) {
	key, err := db.Key(ctx, endpointKeyName, func() []byte { return []byte(rand.Text()) })
	if err != nil {
		return nil, err
	}
	off, err := db.DisabledEndpoints(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]endpoint, len(off))
	for i, e := range off {
		all[i] = endpoint{
			ID: endpointID(key, e.UserID, e.URL), UserID: e.UserID, Email: e.Email, WebhookURL: studio.WithoutQuery(e.URL),
			DisabledAt: e.DisabledAt, Reason: e.Reason, url: e.URL,
		}
	}
	return all, nil
}

// endpointID returns an id for a URL of a user. It uses a key, because a query that is easy to guess could
// be recovered from a plain hash.
func endpointID(key []byte, userID, url string) string {
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "%s\n%s", userID, url) // does not fail
	return hex.EncodeToString(mac.Sum(nil)[:endpointIDBytes])
}

func listEndpoints(ctx context.Context, command *cli.Command) error {
	return withStore(ctx, command, false, func(db *store.Store) error {
		all, err := endpoints(ctx, db)
		if err != nil {
			return err
		}
		return printList(command, all, "no disabled URLs", []string{"ID", "USER", "SINCE", "REASON", "URL"},
			func(e endpoint) []string {
				return []string{e.ID, e.Email, formatTime(e.DisabledAt), string(e.Reason), e.WebhookURL}
			})
	})
}

func enableEndpoint(ctx context.Context, command *cli.Command) error {
	id := command.Args().First()
	if decoded, err := hex.DecodeString(id); err != nil || len(decoded) != endpointIDBytes {
		return usagef("the ID must be one of \"studiod endpoint list\"") // the error must not show the argument, which may be a URL
	}
	return withStore(ctx, command, false, func(db *store.Store) error {
		all, err := endpoints(ctx, db)
		if err != nil {
			return err
		}
		err = studio.ErrNotFound
		i := slices.IndexFunc(all, func(e endpoint) bool { return e.ID == id })
		if i >= 0 {
			err = db.EnableEndpoint(ctx, all[i].UserID, all[i].url)
		}
		switch {
		case errors.Is(err, studio.ErrNotFound):
			return fmt.Errorf("no disabled endpoint with the id %s", id)
		case err != nil:
			return err
		case command.Bool("json"):
			return commandline.PrintJSON(command.Root().Writer, all[i])
		}
		return printLines(command, printable(all[i].WebhookURL)+" of "+printable(all[i].Email)+" is on")
	})
}
