package main

import (
	"context"
	"errors"
	"io/fs"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/store/keyring"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// passwordsKey is the key of the studio.Passwords in the metadata of the root command.
const passwordsKey = "passwords"

func passwordsOf(command *cli.Command) studio.Passwords {
	return command.Root().Metadata[passwordsKey].(studio.Passwords) //nolint:forcetypeassert // run sets it
}

func withStudio(ctx context.Context, command *cli.Command, create bool, do func(*studio.Service) error) error {
	return withStore(ctx, command, create, func(db *store.Store) error {
		return do(studio.New(studio.Config{Store: db, Passwords: passwordsOf(command)}))
	})
}

// withStore opens the database of a command and calls do. A daemon may be running on the same database.
// Commands that need existing records do not create a database.
func withStore(ctx context.Context, command *cli.Command, create bool, do func(*store.Store) error) error {
	return withKeys(ctx, command, store.Config{MustExist: !create}, func(db *store.Store, _ *keyring.Keyring) error { return do(db) })
}

// withKeys is like withStore for commands that change the keys. The keys are nil if there are none.
func withKeys(ctx context.Context, command *cli.Command, cfg store.Config, do func(*store.Store, *keyring.Keyring) error) (err error) {
	dsn, err := databaseOf(command, defaultDatabase)
	if err != nil {
		return err
	}
	source := keySourceOf(command)
	if cfg.Keys, _, err = source.open(dsn); err != nil {
		return err
	}
	cfg.Logger = newLogger(command.Root().ErrWriter, logAuto)
	db, err := openStore(ctx, dsn, cfg)
	if errors.Is(err, fs.ErrNotExist) {
		return usagef("%w; --db names another database", err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return source.explain(do(db, cfg.Keys), dsn)
}

// openStore opens the database. An error is a usage error unless the database is in use or unavailable.
func openStore(ctx context.Context, dsn string, cfg store.Config) (*store.Store, error) {
	db, err := store.Open(ctx, dsn, cfg)
	if err != nil && !errors.Is(err, store.ErrInUse) && !errors.Is(err, studio.ErrBusy) {
		err = commandline.Usage(err)
	}
	return db, err
}
