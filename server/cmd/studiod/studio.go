package main

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/server/internal/auth"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// studioConfig is the part of the domain's configuration that every command shares.
func studioConfig(db *store.Store) studio.Config {
	return studio.Config{
		Store:     db,
		Passwords: auth.NewPasswords(),
		NewID:     func() string { return uuid.Must(uuid.NewV7()).String() },
		NewSecret: func() string { return webhook.NewSecret().Reveal() },
		Now:       time.Now,
	}
}

// withStudio opens the database of a command beside a daemon that may run on it.
func withStudio(ctx context.Context, command *cli.Command, do func(*studio.Service) error) (err error) {
	dsn, err := databaseOf(command, defaultDatabase)
	if err != nil {
		return err
	}
	db, err := store.Open(ctx, dsn, store.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return do(studio.New(studioConfig(db)))
}
