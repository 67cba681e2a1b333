package main

import (
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

// audited makes the commands that change what users have record each run, with its arguments and options, which contain
// no secrets. What the console does, too, is recorded with the change.
func audited(root *cli.Command) {
	changes := []string{
		"user add", "user password", "token rotate", "workspace add", "secret rotate", "key add", "key revoke",
		"project import", "event replay", "endpoint pause", "endpoint enable", "delivery pause", "delivery resume",
		"keyfile rotate", "keyfile reset",
	}
	for _, group := range root.Commands {
		for _, command := range group.Commands {
			name, run := group.Name+" "+command.Name, command.Action
			if !slices.Contains(changes, name) {
				continue
			}
			command.Action = func(ctx context.Context, command *cli.Command) error {
				if err := run(ctx, command); err != nil {
					return err
				}
				return onStudio(func(ctx context.Context, command *cli.Command, service *studio.Service) error {
					return service.RecordAct(ctx, studio.User{Email: byCommand}, name, strings.Join(append(command.Args().Slice(), optionsOf(command)...), " "))
				})(ctx, command)
			}
		}
	}
}

// optionsOf returns the options of a run, apart from those that say where the database is and what is printed.
func optionsOf(command *cli.Command) (options []string) {
	for _, flag := range command.Flags {
		if name := flag.Names()[0]; flag.IsSet() && !slices.Contains([]string{"db", "key-file", "json"}, name) {
			options = append(options, fmt.Sprintf("--%s=%v", name, command.Value(name)))
		}
	}
	return options
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
