package main

import (
	"context"
	"errors"
	"io/fs"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

// What PostgreSQL itself does better than a program beside it could.
const (
	dumpLine    = `pg_dump --format=custom --no-owner --file=FILE "postgres://…"`
	restoreLine = `pg_restore --single-transaction --no-owner --dbname="postgres://…" FILE`
)

func backupCommand() *cli.Command {
	return described(leaf("backup", "write the whole database to a new file", "FILE", nil, backup),
		`Daemons may work on the database meanwhile: the file shows it at one moment. It holds password hashes, and
only its owner can read it. Its keys and webhook secrets are encrypted with the key file, which is needed
to use it: keep a copy of that file apart from the backup. Media are not in it: copy their folder after
the database, so that every file which a row names is there.

PostgreSQL has a program of its own for this:
    `+dumpLine+`

Example: studiod backup studio-$(date +%F).db`)
}

func restoreCommand() *cli.Command {
	return described(leaf("restore", "make a backup the database, where there is none yet", "FILE", nil, restore),
		`The backup is checked first. Put the key file that belongs to it beside the database, named as that is but
with .keys at the end, or give it to studiod serve as --key-file. Of an earlier version, its tables are brought up to date. Events that were on
their way when the backup was made are sent again, with the ids that receivers know.

PostgreSQL has a program of its own for this; the database must be empty:
    `+restoreLine+`

Example: studiod restore --db sqlite:studio.db studio-2026-01-31.db`)
}

func backup(ctx context.Context, command *cli.Command) error {
	path := command.Args().First()
	return withStore(ctx, command, false, func(db *store.Store) error {
		err := db.Backup(ctx, path)
		switch {
		case errors.Is(err, store.ErrNotSQLite):
			return usagef("a PostgreSQL is backed up by: %s", dumpLine)
		case errors.Is(err, fs.ErrExist):
			return usagef("there is such a file already")
		case err != nil:
			return err
		}
		return printLines(command, "the database is backed up", "keep its key file apart from it: without that the backup cannot be used")
	})
}

func restore(ctx context.Context, command *cli.Command) error {
	dsn, err := databaseOf(command, defaultDatabase)
	if err != nil {
		return err
	}
	err = store.Restore(ctx, command.Args().First(), dsn)
	switch {
	case errors.Is(err, store.ErrNotSQLite):
		return usagef("a PostgreSQL is restored by: %s", restoreLine)
	case errors.Is(err, fs.ErrExist):
		return usagef("there is a database already; give another one with --db, or move this one away with its -wal file")
	case errors.Is(err, fs.ErrNotExist):
		return usagef("there is no such file")
	case errors.Is(err, store.ErrNoDatabase), errors.Is(err, store.ErrDamaged), errors.Is(err, store.ErrNewer):
		return usagef("%w", err)
	case err != nil:
		return err
	}
	return printLines(command, "the database is restored", "studiod serve needs the key file that belongs to it")
}
