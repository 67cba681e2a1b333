package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/store/keyring"
)

func resetKeyCommand() *cli.Command {
	return described(leaf("reset", "delete the secrets that a lost key encrypts, so that daemons start without it", "", []cli.Flag{yesFlag()}, recorded(resetKey)),
		`Only the keys of the service and the webhook secrets of users are encrypted. Users, passwords, sessions, projects,
records, files and events are kept. The command says what is lost before it deletes it. If the lost key was in a
file for --key-file, first write a new one with "openssl rand -base64 32". Stop all daemons and workers before.

Example: studiod keyfile reset`)
}

func resetKey(ctx context.Context, command *cli.Command) error {
	cfg := store.Config{Exclusive: true, MustExist: true}
	return withStore(ctx, command, cfg, func(db *store.Store, keys *keyring.Keyring) error {
		running, err := db.Daemons(ctx)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(running, isAlive) {
			return usagef("a daemon is running; stop all daemons and workers first")
		}
		found, err := db.Unreadable(ctx, false)
		if err != nil {
			return err
		}
		lost := lostWith(found)
		if len(lost) == 0 {
			return printLines(command, "no secret needs another key; nothing is to be reset")
		}
		head := "There is no key. Without it, this is lost:"
		if keys != nil {
			head = "The keys do not decrypt this, which is lost without the right key:"
		}
		if err := printLines(command, append([]string{head}, lost...)...); err != nil {
			return err
		}
		if err := confirm(command, "Delete these secrets?"); err != nil {
			return err
		}
		if _, err = db.Unreadable(ctx, true); err != nil {
			return err
		}
		return printLines(command, "The secrets are deleted. New ones are made when they are needed.")
	})
}

// lostWith returns lines about what is lost with secrets that cannot be decrypted.
func lostWith(found store.Unreadable) (lines []string) {
	if len(found.Keys) > 0 {
		lines = append(lines,
			"  Access tokens are no longer valid. Clients renew them with their refresh tokens, which stay valid.",
			"  URLs of files and links to shared projects are no longer valid. Records and projects have new ones.",
			"  Lists that are read page by page must be read again from the beginning. Endpoints have other IDs.",
			"  The certificate of --domain, if there is one, is lost. The daemon gets a new one when it starts.")
	}
	if found.Secrets > 0 {
		lines = append(lines, fmt.Sprintf("  Webhook secrets (%d, users: %d). Each user gets a new one, and receivers reject webhooks until they have it.", found.Secrets, found.Users))
	}
	return lines
}

// isAlive reports whether a daemon has been seen recently. Each is every 15 seconds.
func isAlive(d store.Daemon) bool { return d.Seen < 20*time.Second }
