package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/server/internal/api/auth"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

const (
	// signingKeyName is the name of the first key that signs access tokens. The names of later keys contain
	// the time from which they are used.
	signingKeyName = "access-token"
	signingKeyFrom = signingKeyName + " from "
)

func rotateTokensCommand() *cli.Command {
	return described(leaf("rotate", "sign access tokens with a new key", "", []cli.Flag{
		&cli.BoolFlag{Name: "revoke", Usage: "delete the old keys, for example after a leak; access tokens become invalid, and clients renew them with refresh tokens"},
	}, onStore(rotateSigningKey)),
		`Daemons use the new key after a minute, when all have read it. Tokens that the old key signed stay valid until
they expire, within an hour.

Example: studiod token rotate`)
}

// signingKeys returns the keys that sign access tokens, and their names.
func signingKeys(ctx context.Context, db *store.Store) (keys []auth.SigningKey, names []string, err error) {
	all, err := db.Keys(ctx)
	if err != nil {
		return nil, nil, err
	}
	for name, seed := range all {
		key := auth.SigningKey{Seed: seed}
		if from, ok := strings.CutPrefix(name, signingKeyFrom); ok {
			if key.From, err = time.Parse(time.RFC3339, from); err != nil {
				return nil, nil, fmt.Errorf("signing key %q: %w", name, err)
			}
		} else if name != signingKeyName {
			continue
		}
		keys, names = append(keys, key), append(names, name)
	}
	return keys, names, nil
}

// openTokens reads the keys that sign access tokens. It creates the first key if there is none.
func (d *daemon) openTokens(ctx context.Context) (err error) {
	keys, err := d.readSigningKeys(ctx)
	if err == nil && len(keys) == 0 {
		if _, err = d.store.Key(ctx, signingKeyName, auth.NewSeed); err == nil {
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
	keys, _, err := signingKeys(ctx, d.store)
	return keys, err
}

func rotateSigningKey(ctx context.Context, command *cli.Command, db *store.Store) error {
	keys, names, err := signingKeys(ctx, db)
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
	for i, name := range names {
		if command.Bool("revoke") && !keys[i].From.Equal(from) || retired(keys[i], keys, now) {
			if err := db.DeleteKey(ctx, name); err != nil {
				return err
			}
		}
	}
	return printLines(command, "access tokens are signed with a new key from "+formatTime(from)+" on")
}

// retired reports whether all tokens that a key has signed have expired.
func retired(key auth.SigningKey, all []auth.SigningKey, now time.Time) bool {
	for _, other := range all {
		if other.From.After(key.From) && auth.Retired(other.From).Before(now) {
			return true
		}
	}
	return false
}
