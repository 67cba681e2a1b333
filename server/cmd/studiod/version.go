package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/commandline"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

func versionCommand() *cli.Command {
	return described(leaf("version", "print the version and the Go version", "", []cli.Flag{
		&cli.BoolFlag{Name: "daemons", Usage: "list the daemons of the database with their versions instead"}, jsonFlag(),
	}, printVersion), `A daemon that was killed is in the list for a day. JSON fields of --daemons: id, host, version, started_at, seen_at.

Example: studiod version --daemons`)
}

// runningDaemon is the printed form of a daemon.
type runningDaemon struct {
	ID      string    `json:"id"`
	Host    string    `json:"host"`
	Version string    `json:"version"`
	Started time.Time `json:"started_at"`
	Seen    time.Time `json:"seen_at"`
}

func printVersion(ctx context.Context, command *cli.Command) error {
	if !command.Bool("daemons") {
		return printLines(command, fmt.Sprintf("studiod %s (%s, %s/%s)", commandline.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH))
	}
	return withStore(ctx, command, false, func(db *store.Store) error {
		found, err := db.Daemons(ctx)
		if err != nil {
			return err
		}
		return printList(command, found, func(d store.Daemon) runningDaemon {
			return runningDaemon{d.ID, d.Host, d.Version, d.Started, time.Now().Add(-d.Seen)}
		}, "no daemons", []string{"ID", "HOST", "VERSION", "STARTED", "LAST SEEN"}, func(d runningDaemon) []string {
			return []string{d.ID, d.Host, d.Version, formatTime(d.Started), formatTime(d.Seen)}
		})
	})
}
