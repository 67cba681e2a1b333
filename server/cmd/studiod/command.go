package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Exit codes. exitUsage is returned for every error that the caller can fix with other input.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// usageError reports invalid input that an action found, such as a malformed value or a missing record.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// failureError reports a failure of an action whose input was valid. All other errors, such as those of the
// flag parser, are usage errors.
type failureError struct{ error }

func (e failureError) Unwrap() error { return e.error }

// run runs the command line, with passwords for the passwords of users. It returns the exit code, and writes at most
// one line to stderr.
func run(ctx context.Context, passwords studio.Passwords, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := rootCommand(stdin, stdout, stderr)
	root.Metadata = map[string]any{passwordsKey: passwords}
	err := root.Run(ctx, args)
	if err == nil {
		return exitOK
	}
	_, _ = fmt.Fprintf(stderr, "studiod: %s\n", strings.Join(strings.Fields(err.Error()), " "))
	if errors.As(err, new(failureError)) {
		return exitFailure
	}
	return exitUsage
}

func rootCommand(stdin io.Reader, stdout, stderr io.Writer) *cli.Command {
	root := &cli.Command{
		Name:                  "studiod",
		Usage:                 "serve Avatar Studio and manage its database",
		UsageText:             "studiod COMMAND [OPTIONS] [ARGUMENTS]; studiod COMMAND --help shows the options of a command",
		Description:           manual(),
		Reader:                stdin,
		Writer:                stdout,
		ErrWriter:             stderr,
		Version:               version(), // for --version
		EnableShellCompletion: true,
		// The commands come before the manual, which is long.
		CustomRootCommandHelpTemplate: `NAME:
   {{template "helpNameTemplate" .}}

USAGE:
   {{template "usageTemplate" .}}

COMMANDS:{{template "visibleCommandCategoryTemplate" .}}

DESCRIPTION:
   {{template "descriptionTemplate" .}}
`,
		ExitErrHandler: func(context.Context, *cli.Command, error) {}, // run prints errors and chooses the exit code
		Commands: []*cli.Command{
			serveCommand(),
			workCommand(),
			userCommand(),
			tokenCommand(),
			workspaceCommand(),
			projectCommand(),
			secretCommand(),
			keyCommand(),
			eventCommand(),
			endpointCommand(),
			deliveryCommand(),
			healthCommand(),
			checkCommand(),
			backupCommand(),
			restoreCommand(),
			versionCommand(),
		},
	}
	prepare(root)
	return root
}

// prepare makes every command return usage errors instead of printing help, and every command group reject
// unknown subcommands. The errors suggest the most similar name.
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
				suggestion := cli.SuggestCommand(command.Commands, command.Args().First())
				return usagef("no such command; did you mean %s? see %s --help", suggestion, command.FullName())
			}
			return cli.ShowSubcommandHelp(command)
		}
	}
	for _, child := range command.Commands {
		prepare(child)
	}
}

// leaf returns a command without subcommands. argsUsage contains the names of its
// arguments. Arguments in brackets are optional.
func leaf(name, usage, argsUsage string, flags []cli.Flag, action cli.ActionFunc) *cli.Command {
	maxArgs := len(strings.Fields(argsUsage))
	minArgs := maxArgs - strings.Count(argsUsage, "[")
	return &cli.Command{
		Name: name, Usage: usage, ArgsUsage: argsUsage,
		Flags: append([]cli.Flag{databaseFlag(), keyFileFlag()}, flags...),
		Action: func(ctx context.Context, command *cli.Command) error {
			if given := command.Args().Len(); given < minArgs || given > maxArgs {
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

// explain converts an error of package studio about a record to a usage error of the command.
func explain(err error, record string) error {
	switch {
	case errors.Is(err, studio.ErrNotFound):
		return usagef("no such %s", record)
	case errors.Is(err, studio.ErrExists):
		return usagef("this %s already exists", record)
	}
	return err
}

func databaseFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "db", Usage: "database, as sqlite:PATH or postgres://USER@HOST/DATABASE; set a password with PGPASSWORD, because other users of the machine can see arguments", DefaultText: "sqlite:studio.db in the user's data directory",
		Sources: cli.EnvVars("STUDIO_DB"),
	}
}

// databaseOf returns the DSN from --db. Without --db, it is the SQLite file called name in the data
// directory.
func databaseOf(command *cli.Command, name string) (string, error) {
	if dsn := command.String("db"); dsn != "" {
		return dsn, nil
	}
	directory, err := dataDirectory()
	if err != nil {
		return "", fmt.Errorf("no data directory; set --db: %w", err)
	}
	return "sqlite:" + filepath.Join(directory, name), nil
}

func isSQLite(dsn string) bool { return strings.HasPrefix(dsn, "sqlite:") }

// dataDirectory returns the directory for the user's data: XDG_DATA_HOME or ~/.local/share on Unix, and
// [os.UserConfigDir] on systems that keep data and settings in one place.
func dataDirectory() (string, error) {
	const name = "avatarstudio"
	if directory := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(directory) {
		return filepath.Join(directory, name), nil
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		directory, err := os.UserConfigDir()
		return filepath.Join(directory, name), err
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "share", name), err
}
