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

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/web/guide"
)

// Exit codes. exitUsage is returned for every error that the caller can fix with other input.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

func usagef(format string, args ...any) error { return commandline.Usagef(format, args...) }

// run runs the command line, with passwords for the passwords of users. It returns the exit code, and writes at most
// one line to stderr.
func run(ctx context.Context, passwords studio.Passwords, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := rootCommand(stdin, stdout, stderr)
	root.Metadata = map[string]any{passwordsKey: passwords}
	line, err := commandline.Run(ctx, root, args)
	if err == nil {
		return exitOK
	}
	_, _ = fmt.Fprintf(stderr, "studiod: %s\n", line)
	if errors.As(err, new(commandline.FailureError)) {
		return exitFailure
	}
	return exitUsage
}

func rootCommand(stdin io.Reader, stdout, stderr io.Writer) *cli.Command {
	root := &cli.Command{
		Name:        "studiod",
		Usage:       "serve Avatar Studio and manage its database",
		UsageText:   "studiod COMMAND [OPTIONS] [ARGUMENTS]; studiod help COMMAND shows options, and studiod help TOPIC a page",
		Description: "Studiod stores avatars and lip-sync videos in a database, renders the videos, and delivers signed webhooks.",
		// The default template has the description before the commands.
		CustomRootCommandHelpTemplate: `NAME:
   {{template "helpNameTemplate" .}}

USAGE:
   {{template "usageTemplate" .}}

COMMANDS:{{template "visibleCommandCategoryTemplate" .}}
`,
		Commands: append([]*cli.Command{
			serveCommand(),
			workCommand(),
			userCommand(),
			tokenCommand(),
			workspaceCommand(),
			projectCommand(),
			secretCommand(),
			apiKeyCommand(),
			keyFileCommand(),
			auditCommand(),
			eventCommand(),
			endpointCommand(),
			deliveryCommand(),
			healthCommand(),
			checkCommand(),
			backupCommand(),
			restoreCommand(),
			versionCommand(),
		}, topics()...),
	}
	commandline.Prepare(root, stdin, stdout, stderr)
	return root
}

// topics returns the pages of the guide, which "studiod help" and "studiod man" print.
func topics() (all []*cli.Command) {
	for _, page := range guide.Pages() {
		all = append(all, commandline.Topic(page.Name, page.Summary, page.Text()))
	}
	return all
}

// leaf returns a command that uses the database. See [commandline.Leaf].
func leaf(name, usage, argsUsage string, flags []cli.Flag, action cli.ActionFunc) *cli.Command {
	return commandline.Leaf(name, usage, argsUsage, append([]cli.Flag{databaseFlag("sqlite:studio.db in the user's data directory"), keyFileFlag()}, flags...), action)
}

// explain converts an error of package studio about a record to a usage error of the command.
func explain(err error, record string) error {
	switch {
	case errors.Is(err, studio.ErrNotFound):
		return usagef("no such %s", record)
	case errors.Is(err, studio.ErrExists):
		return usagef("this %s already exists", record)
	case errors.Is(err, studio.ErrWorkspaceName), errors.Is(err, studio.ErrAPIKeyName), errors.Is(err, studio.ErrTooManyAPIKeys), errors.Is(err, studio.ErrLastOperator):
		return usagef("%s", strings.TrimPrefix(err.Error(), "studio: "))
	}
	return err
}

func databaseFlag(defaultText string) cli.Flag {
	return setting(&cli.StringFlag{
		Name: "db", Usage: "database, as sqlite:PATH or postgres://USER@HOST/DATABASE; set a password with PGPASSWORD, because other users of the machine can see arguments", DefaultText: defaultText,
	})
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

// sqlitePath returns the path of a SQLite database.
func sqlitePath(dsn string) (path string, ok bool) { return strings.CutPrefix(dsn, "sqlite:") }

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
