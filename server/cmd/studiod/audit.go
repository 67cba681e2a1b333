package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/web/console"
)

// byCommand is who did what a command did.
const byCommand = "command line"

func auditCommand() *cli.Command {
	return described(leaf("audit", "list what operators did, the latest first", "", pageFlags("acts"), onStudio(listActs)),
		`It is kept for a year. JSON fields: id, at, by (the email of the operator, "command line", or "" for the holder of a
link), action, target.

Example: studiod audit`)
}

func listActs(ctx context.Context, command *cli.Command, service *studio.Service) error {
	return columns[studio.Act]{
		{"id", "", func(a studio.Act) any { return a.ID }},
		{"at", "AT", func(a studio.Act) any { return a.At }},
		{"by", "BY", func(a studio.Act) any { return a.By }},
		{"action", "ACTION", func(a studio.Act) any { return a.Action }},
		{"target?", "TARGET", func(a studio.Act) any { return a.Target }},
	}.page(ctx, command, "no acts", service.Acts)
}

// recorded makes a command that changes what users have record each run, with its arguments and options, which contain
// no secrets. A run is recorded before its output is written, which may fail or end the process. What the console does,
// too, is recorded with the change.
func recorded(run cli.ActionFunc) cli.ActionFunc {
	return func(ctx context.Context, command *cli.Command) error {
		output := bufio.NewWriter(command.Root().Writer)
		command.Root().Writer = output
		err := run(ctx, command)
		if err == nil {
			if err = onStudio(record)(ctx, command); err != nil {
				err = fmt.Errorf("what the command has done stays, but studiod audit lacks it: %w", err)
			}
		}
		if lost := output.Flush(); lost != nil && !errors.Is(err, lost) {
			err = errors.Join(err, fmt.Errorf("the output is lost, but what the command has done stays: %w", lost))
		}
		return err
	}
}

// record records the run of a command.
func record(ctx context.Context, command *cli.Command, service *studio.Service) error {
	name, target := strings.TrimPrefix(command.FullName(), "studiod "), command.Args().Slice()
	for _, flag := range command.Flags { // but those that say where the database is and what is printed
		if name := flag.Names()[0]; flag.IsSet() && !slices.Contains([]string{"db", "key-file", "json"}, name) {
			target = append(target, fmt.Sprintf("--%s=%v", name, command.Value(name)))
		}
	}
	return service.RecordAct(ctx, studio.User{Email: byCommand}, name, strings.Join(target, " "))
}

// showSetupLink prints the link for the first operator, if there is none. It is not in the log.
func showSetupLink(ctx context.Context, out io.Writer, d *daemon) error {
	if d.console == nil {
		return nil
	}
	secret, err := d.studio.NewSetupLink(ctx)
	if errors.Is(err, studio.ErrExists) {
		return nil
	}
	if err == nil {
		_, err = fmt.Fprintf(out, "There is no operator yet. Open this link within %s to become the first operator:\n  %s\n",
			studio.SetupLink.Lifetime(), console.LinkURL(d.studio.PublicURL, secret))
	}
	return err
}
