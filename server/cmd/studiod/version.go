package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

func versionCommand() *cli.Command {
	return described(leaf("version", "print the version and the Go version", "", []cli.Flag{
		&cli.BoolFlag{Name: "daemons", Usage: "list the daemons of the database with their versions instead"}, jsonFlag(),
	}, printVersion), `A daemon that was killed is in the list for a day. JSON fields of --daemons: id, host, version, started_at, seen_at.

Example: studiod version --daemons`)
}

func printVersion(ctx context.Context, command *cli.Command) error {
	if !command.Bool("daemons") {
		return printLines(command, fmt.Sprintf("studiod %s (%s, %s/%s)", commandline.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH))
	}
	return onStore(listDaemons)(ctx, command)
}

func listDaemons(ctx context.Context, command *cli.Command, db *store.Store) error {
	found, err := db.Daemons(ctx)
	if err != nil {
		return err
	}
	return columns[store.Daemon]{
		{"id", "ID", func(d store.Daemon) any { return d.ID }},
		{"host", "HOST", func(d store.Daemon) any { return d.Host }},
		{"version", "VERSION", func(d store.Daemon) any { return d.Version }},
		{"started_at", "STARTED", func(d store.Daemon) any { return d.Started }},
		{"seen_at", "LAST SEEN", func(d store.Daemon) any { return time.Now().Add(-d.Seen) }},
	}.list(command, found, "no daemons")
}
