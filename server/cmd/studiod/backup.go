package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/server/internal/media/bucket"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/backup"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/store/keyring"
)

// Commands for backing up and restoring PostgreSQL, which has better tools than studiod could offer.
const (
	dumpLine    = `pg_dump --format=custom --no-owner --file=FILE "postgres://…"`
	restoreLine = `pg_restore --single-transaction --no-owner --dbname="postgres://…" FILE`
)

func backupCommand() *cli.Command {
	return described(leaf("backup", "write the whole database to a new file", "FILE", nil, onStore(writeBackup)),
		`The backup is a consistent snapshot, also while daemons are running. Its file contains password hashes and is
readable by its owner only. The backup cannot be used without the key file, because keys and webhook secrets are
encrypted. Keep a copy of the key file in another place. The backup contains no media files. Copy their folder
after the backup, so that the copy has all files of the backup.

Back up PostgreSQL with its own program:
    `+dumpLine+`

Example: studiod backup studio-$(date +%F).db`)
}

func restoreCommand() *cli.Command {
	return described(leaf("restore", "create a database from a backup, or all from a backup of studiod serve", "FILE|PLACE@TIME",
		[]cli.Flag{mediaFlag("a directory next to the database")}, restore),
		`The command checks the backup, and migrates tables of an earlier version. Copy the key file of the backup next to
the database, with the name of the database and the extension .keys, or set it as --key-file of studiod serve. If the
key of the backup is missing, the command says in which file.
Events that were pending in the backup are sent again, with the same ids. Access tokens from before are no longer
valid; clients renew those of sessions in the backup with refresh tokens.

From a backup by --backup of studiod serve, the command restores the files and the database. It needs the key file
first. PLACE is the value of --backup, and TIME is in UTC: the latest backup that begins with it is restored, or the
latest one before it. @latest restores the latest one. A backup that is later than the clock of this machine is named
and skipped, unless TIME is its whole time. If the command is interrupted, run it again.

Restore PostgreSQL with its own program, to an empty database. Its files are restored from PLACE@TIME:
    `+restoreLine+`
    studiod token rotate --revoke

Example: studiod restore --db sqlite:studio.db studio-2026-01-31.db
Example: studiod restore --key-file studio.keys s3://BUCKET/PREFIX@2026-11-22T10:00`)
}

func writeBackup(ctx context.Context, command *cli.Command, db *store.Store) error {
	path := command.Args().First()
	err := db.Backup(ctx, path)
	switch {
	case errors.Is(err, store.ErrNotSQLite):
		return usagef("back up PostgreSQL with: %s", dumpLine)
	case errors.Is(err, fs.ErrExist) && exists(path):
		return usagef("the file already exists")
	case errors.Is(err, fs.ErrExist):
		return usagef("%s.partial exists: delete it, unless another backup is writing it", path)
	case err != nil:
		return err
	}
	return printLines(command, "the database is backed up", "keep its key file apart from it: without that the backup cannot be used")
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
	source, from := keySourceOf(command), command.Args().First()
	keys, _, err := source.open(dsn, true)
	if err != nil {
		return err
	}
	if strings.HasPrefix(from, "s3://") || strings.HasPrefix(from, "file:") {
		return explainRestore(restorePlace(ctx, command, dsn, from, keys), source, dsn)
	}
	if err := explainRestore(store.Restore(ctx, from, dsn), source, dsn); err != nil {
		return err
	}
	return printLines(command, append([]string{"the database is restored"}, keyHint(ctx, source, dsn, keys)...)...)
}

// keyHint returns a line about the key file that a restored database needs, if it needs one.
func keyHint(ctx context.Context, source keySource, dsn string, keys *keyring.Keyring) []string {
	db, err := store.Open(ctx, dsn, store.Config{MustExist: true, Keys: keys})
	if err == nil {
		_, err = db.Keys(ctx)
		err = errors.Join(err, db.Close())
	}
	switch {
	case errors.Is(err, keyring.ErrNoKey):
		return []string{"studiod serve needs the key of this database, and " + source.lacks(dsn) + ": copy its key file there, or set --key-file"}
	case keys != nil:
		return []string{"studiod serve needs the same key file"}
	}
	return nil
}

// explainRestore converts errors that the caller can fix to usage errors.
func explainRestore(err error, source keySource, dsn string) error {
	switch {
	case errors.Is(err, store.ErrNotSQLite):
		return usagef("restore PostgreSQL with: %s", restoreLine)
	case errors.Is(err, fs.ErrExist):
		return usagef("the database already exists; set another --db, or move %s and its -wal file", strings.TrimPrefix(dsn, "sqlite:"))
	case errors.Is(err, store.ErrNewer):
		return usagef("the backup was %w", err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, store.ErrNoDatabase), errors.Is(err, store.ErrDamaged), errors.Is(err, backup.ErrPlace),
		errors.Is(err, backup.ErrTime), errors.Is(err, backup.ErrEvery), errors.Is(err, backup.ErrNone), errors.Is(err, backup.ErrPlain),
		errors.Is(err, bucket.ErrLocation):
		return usagef("%w", err)
	case errors.Is(err, keyring.ErrNoKey):
		return usagef("the key of the backup is missing, and %s; copy the key file of the daemon that wrote it there, or set --key-file", source.lacks(dsn))
	}
	return err
}
