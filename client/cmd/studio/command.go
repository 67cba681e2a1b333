package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/gen"
)

func (p *program) rootCommand() *cli.Command {
	root := &cli.Command{
		Name:  "studio",
		Usage: "work with Avatar Studio",
		Description: `Flags override environment variables, and environment variables override the login stored by
"studio login". The variables are STUDIO_BASE_URL, STUDIO_EMAIL and STUDIO_PASSWORD or STUDIO_TOKEN,
STUDIO_WORKSPACE, and STUDIO_WEBHOOK_SECRET for listen and trigger.

Examples:
  studio login --base-url http://127.0.0.1:8080 --email ada@example.com
  studio avatar create --title Ada --watch
  studio completion bash

` + exitCodes,
		Reader:                p.Stdin,
		Writer:                p.Stdout,
		ErrWriter:             p.Stderr,
		Version:               version(), // for --version
		EnableShellCompletion: true,
		ExitErrHandler:        func(context.Context, *cli.Command, error) {}, // Run prints the error and chooses the exit code
		Commands: []*cli.Command{
			p.loginCommand(),
			p.logoutCommand(),
			p.projectsCommand(),
			p.avatarCommand(),
			p.videoCommand(),
			p.lipsyncCommand(),
			p.webhookCommand(),
			p.listenCommand(),
			p.triggerCommand(),
			p.versionCommand(),
		},
	}
	prepare(root)
	return root
}

// prepare makes every command return input errors instead of printing help, and every group of commands
// reject unknown subcommands. The errors suggest the most similar name.
func prepare(command *cli.Command) {
	command.OnUsageError = func(_ context.Context, command *cli.Command, err error, _ bool) error {
		name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -") // package cli has no other way to tell
		if suggestion := cli.SuggestFlag(command.Flags, name, false); unknown && suggestion != "" {
			err = fmt.Errorf("%w; did you mean %s?", err, suggestion)
		}
		return err
	}
	if len(command.Commands) > 0 {
		command.Action = func(_ context.Context, command *cli.Command) error {
			if command.Args().Present() {
				name := command.Args().First()
				return usagef("unknown command %q; did you mean %s? see %s --help", name, cli.SuggestCommand(command.Commands, name), command.FullName())
			}
			return cli.ShowSubcommandHelp(command)
		}
	}
	for _, child := range command.Commands {
		prepare(child)
	}
}

// leaf returns a command that has the flag --json and requires exactly the arguments in argsUsage.
func leaf(name, usage, argsUsage, examples string, flags []cli.Flag, action cli.ActionFunc) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage, ArgsUsage: argsUsage, Description: "Examples:\n" + examples,
		Flags: append(flags, &cli.BoolFlag{Name: "json", Usage: "print one JSON object per line"}),
		Action: func(ctx context.Context, command *cli.Command) error {
			if command.Args().Len() != len(strings.Fields(argsUsage)) {
				return usagef("usage: %s; see --help", strings.TrimSpace(command.FullName()+" "+argsUsage))
			}
			err := action(ctx, command)
			if err == nil || errors.As(err, new(usageError)) {
				return err
			}
			return failureError{err}
		},
	}
}

// optionalFlag returns the value of a flag, if the flag was set.
func optionalFlag(command *cli.Command, name string) gen.Nullable[string] {
	if !command.IsSet(name) {
		return gen.Nullable[string]{}
	}
	return gen.Value(command.String(name))
}
