package main

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

// Commands for backing up and restoring PostgreSQL, which has better tools than studiod could offer.
const (
	dumpLine    = `pg_dump --format=custom --no-owner --file=FILE "postgres://…"`
	restoreLine = `pg_restore --single-transaction --no-owner --dbname="postgres://…" FILE`
)

func backupCommand() *cli.Command {
	return described(leaf("backup", "write the whole database to a new file", "FILE", nil, backup),
		`Daemons may be running: the backup is a consistent snapshot. It contains password hashes, and only its owner
can read it. Its keys and webhook secrets are encrypted, so it cannot be used without the key file: keep a
copy of that file apart from the backup. The backup contains no media: copy their folder after the database,
so that it has every file that a row names.

Back up PostgreSQL with its own program:
    `+dumpLine+`

Example: studiod backup studio-$(date +%F).db`)
}

func restoreCommand() *cli.Command {
	return described(leaf("restore", "restore a backup where there is no database yet", "FILE", nil, restore),
		`The backup is checked first. Tables of an earlier version are migrated. Put the key file of the backup beside
the database, with the same name but the extension .keys, or give it to studiod serve as --key-file. Events
that were being delivered when the backup was made are sent again, with the same ids.

Restore PostgreSQL with its own program, to an empty database:
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
		case errors.Is(err, fs.ErrExist) && exists(path):
			return usagef("there is such a file already")
		case errors.Is(err, fs.ErrExist):
			return usagef("there is %s.partial: delete it, unless another backup is writing it", path)
		case err != nil:
			return err
		}
		return printLines(command, "the database is backed up", "keep its key file apart from it: without that the backup cannot be used")
	})
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
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
