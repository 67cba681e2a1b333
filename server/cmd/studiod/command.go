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

// Exit codes. Everything that the user of a command can put right by other input is exitUsage.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// usageError is bad input that an action found: a value that is none, a record that is not there.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// failureError is what an action could not do with good input. Any other error that a command ends
// with, from the parsing of its flags on, is bad input.
type failureError struct{ error }

func (e failureError) Unwrap() error { return e.error }

// run is the program. It returns the exit code after writing at most one line to stderr.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	err := rootCommand(stdin, stdout, stderr).Run(ctx, args)
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
		Description:           manual(),
		Reader:                stdin,
		Writer:                stdout,
		ErrWriter:             stderr,
		HideVersion:           true,
		EnableShellCompletion: true,
		ExitErrHandler:        func(context.Context, *cli.Command, error) {}, // run prints and decides
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
			checkCommand(),
			backupCommand(),
			restoreCommand(),
			versionCommand(),
		},
	}
	prepare(root)
	return root
}

// prepare makes every command return what is wrong with its input, in place of printing help, and
// every group of commands refuse what it does not have.
func prepare(command *cli.Command) {
	command.OnUsageError = func(_ context.Context, _ *cli.Command, err error, _ bool) error { return err }
	if len(command.Commands) > 0 {
		command.Action = func(_ context.Context, command *cli.Command) error {
			if command.Args().Present() {
				return usagef("%s has no command of this name; see %[1]s --help", command.FullName())
			}
			return cli.ShowSubcommandHelp(command)
		}
	}
	for _, child := range command.Commands {
		prepare(child)
	}
}

// leaf makes a command that takes the arguments that argsUsage names; one in brackets may be left out.
func leaf(name, usage, argsUsage string, flags []cli.Flag, action cli.ActionFunc) *cli.Command {
	most := len(strings.Fields(argsUsage))
	least := most - strings.Count(argsUsage, "[")
	return &cli.Command{
		Name: name, Usage: usage, ArgsUsage: argsUsage,
		Flags: append([]cli.Flag{databaseFlag(), keyFileFlag()}, flags...),
		Action: func(ctx context.Context, command *cli.Command) error {
			if given := command.Args().Len(); given < least || given > most {
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

// explain turns what the domain says of a record into what a command says of its input.
func explain(err error, record string) error {
	switch {
	case errors.Is(err, studio.ErrNotFound):
		return usagef("there is no such %s", record)
	case errors.Is(err, studio.ErrExists):
		return usagef("there is such a %s already", record)
	}
	return err
}

func databaseFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "db", Usage: "database, as sqlite:PATH or postgres://USER@HOST/DATABASE; PGPASSWORD hides a password from other users of the machine", DefaultText: "sqlite:studio.db in the user's data directory",
		Sources: cli.EnvVars("STUDIO_DB"),
	}
}

// databaseOf returns the database that a command works on; name is the file in the data
// directory when none is given.
func databaseOf(command *cli.Command, name string) (string, error) {
	if dsn := command.String("db"); dsn != "" {
		return dsn, nil
	}
	directory, err := dataDirectory()
	if err != nil {
		return "", fmt.Errorf("no data directory; give --db: %w", err)
	}
	return "sqlite:" + filepath.Join(directory, name), nil
}

func isSQLite(dsn string) bool { return strings.HasPrefix(dsn, "sqlite:") }

// dataDirectory is where the platform keeps the data of users: XDG_DATA_HOME or
// ~/.local/share on Unix, and what os.UserConfigDir says where data and settings live together.
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
