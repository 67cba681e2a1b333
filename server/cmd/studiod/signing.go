package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/server/internal/api/auth"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

// signingKeyFrom is the begin of the name of a later key, before the time from which it is used.
const signingKeyFrom = store.AccessTokenKey + " from "

func rotateTokensCommand() *cli.Command {
	return described(leaf("rotate", "sign access tokens with a new key", "", []cli.Flag{
		&cli.BoolFlag{Name: "revoke", Usage: "delete the old keys, for example after a leak; access tokens become invalid within 10 seconds, and clients renew them with refresh tokens"},
	}, recorded(onStore(rotateSigningKey))),
		`Daemons use the new key after a minute, when all have read it. Tokens that the old key signed stay valid until
they expire, within an hour.

Example: studiod token rotate`)
}

// signingKeys returns the keys that sign access tokens, by their names.
func signingKeys(ctx context.Context, db *store.Store) (map[string]auth.SigningKey, error) {
	all, err := db.Keys(ctx)
	if err != nil {
		return nil, err
	}
	keys := make(map[string]auth.SigningKey)
	for name, seed := range all {
		key := auth.SigningKey{Seed: seed}
		if from, ok := strings.CutPrefix(name, signingKeyFrom); ok {
			if key.From, err = time.Parse(time.RFC3339, from); err != nil {
				return nil, fmt.Errorf("signing key %q: %w", name, err)
			}
		} else if name != store.AccessTokenKey {
			continue
		}
		keys[name] = key
	}
	return keys, nil
}

// openTokens reads the keys that sign access tokens. It creates the first key if there is none.
func (d *daemon) openTokens(ctx context.Context) (err error) {
	keys, err := d.readSigningKeys(ctx)
	if err == nil && len(keys) == 0 {
		if _, err = d.store.Key(ctx, store.AccessTokenKey, auth.NewSeed); err == nil {
			keys, err = d.readSigningKeys(ctx)
		}
	}
	if err != nil {
		return err
	}
	d.tokens, err = auth.NewTokens(keys, time.Now)
	return err
}

func (d *daemon) readSigningKeys(ctx context.Context) ([]auth.SigningKey, error) {
	keys, err := signingKeys(ctx, d.store)
	return slices.Collect(maps.Values(keys)), err
}

func rotateSigningKey(ctx context.Context, command *cli.Command, db *store.Store) error {
	keys, err := signingKeys(ctx, db)
	if err != nil {
		return err
	}
	now := time.Now().UTC().Truncate(time.Second)
	from := now.Add(auth.KeyOverlap)
	if command.Bool("revoke") {
		from = now
	}
	if _, err := db.Key(ctx, signingKeyFrom+from.Format(time.RFC3339), auth.NewSeed); err != nil {
		return err
	}
	all := slices.Collect(maps.Values(keys))
	for name, key := range keys {
		// Nothing that a key has signed is valid when another one has replaced it for long enough.
		retired := slices.ContainsFunc(all, func(other auth.SigningKey) bool {
			return other.From.After(key.From) && auth.Retired(other.From).Before(now)
		})
		if retired || command.Bool("revoke") && !key.From.Equal(from) {
			if err := db.DeleteKey(ctx, name); err != nil {
				return err
			}
		}
	}
	return printLines(command, "access tokens are signed with a new key from "+formatTime(from)+" on")
}
