package main

import (
	"context"
	"errors"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/store/keyring"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// passwordsKey is the key of the studio.Passwords in the metadata of the root command.
const passwordsKey = "passwords"

func passwordsOf(command *cli.Command) studio.Passwords {
	return command.Root().Metadata[passwordsKey].(studio.Passwords) //nolint:forcetypeassert // run sets it
}

// onStore returns the action of a command that needs an existing database, on which a daemon may be running.
func onStore(do func(context.Context, *cli.Command, *store.Store) error) cli.ActionFunc {
	return func(ctx context.Context, command *cli.Command) error {
		return withStore(ctx, command, store.Config{MustExist: true}, func(db *store.Store, _ *keyring.Keyring) error {
			return do(ctx, command, db)
		})
	}
}

// onStudio is like onStore for a command that calls the rules.
func onStudio(do func(context.Context, *cli.Command, *studio.Service) error) cli.ActionFunc {
	return onStore(func(ctx context.Context, command *cli.Command, db *store.Store) error {
		return do(ctx, command, studio.New(studio.Config{Store: db, Passwords: passwordsOf(command)}))
	})
}

// onUser is like onStudio for a command whose first argument is the email of a user.
func onUser(do func(context.Context, *cli.Command, *studio.Service, studio.User) error) cli.ActionFunc {
	return onStudio(func(ctx context.Context, command *cli.Command, service *studio.Service) error {
		user, err := service.UserByEmail(ctx, command.Args().First())
		if err != nil {
			return explain(err, "user")
		}
		return do(ctx, command, service, user)
	})
}

// withNew calls do with the rules over a database, which it creates if there is none.
func withNew(ctx context.Context, command *cli.Command, do func(*studio.Service) error) error {
	return withStore(ctx, command, store.Config{}, func(db *store.Store, _ *keyring.Keyring) error {
		return do(studio.New(studio.Config{Store: db, Passwords: passwordsOf(command)}))
	})
}

// withStore opens the database of a command and calls do with it and its keys, which are nil if there are none.
func withStore(ctx context.Context, command *cli.Command, cfg store.Config, do func(*store.Store, *keyring.Keyring) error) (err error) {
	dsn, err := databaseOf(command, defaultDatabase)
	if err != nil {
		return err
	}
	source := keySourceOf(command)
	if cfg.Keys, _, err = source.open(dsn, false); err != nil {
		return err
	}
	cfg.MustExist = cfg.MustExist || source.follows(cfg.Keys)
	cfg.Logger = newLogger(command.Root().ErrWriter, logAuto)
	db, err := openStore(ctx, dsn, cfg)
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
		err = usagef("--db: %w", err)
	}
	return db, err
}
