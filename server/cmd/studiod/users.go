package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/server/internal/media"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func userCommand() *cli.Command {
	return &cli.Command{
		Name: "user", Usage: "add and list users, set their passwords and roles, and disable and delete them",
		Commands: []*cli.Command{
			leaf("add", "add a user and print the id; reads the password from the terminal or the standard input", "EMAIL", []cli.Flag{
				idFlag("user"), &cli.BoolFlag{Name: "operator", Usage: "make the user an operator, who can see all users and the state of the service in the console"},
			}, recorded(addUser)),
			described(leaf("list", "list users, the newest first", "", append(pageFlags("users"),
				&cli.StringFlag{Name: "workspace", Usage: "only members of the workspace with this `ID`", Validator: checkID}), onStore(listUsers)),
				`JSON fields: id, email, role (operator or user), in_progress (creations that wait for rendering or are being
rendered, up to 1,000), created_at, disabled_at.

Example: studiod user list`),
			leaf("password", "set the password of a user and end all sessions of the user", "EMAIL", nil, recorded(setPassword)),
			leaf("role", "set the role of a user; an operator can see all users and the state of the service in the console", "EMAIL operator|user", nil, onStudio(setRole)),
			leaf("disable", "end all sessions of a user, refuse logins and API keys, and hide shared videos, until enabled", "EMAIL", nil, setEnabled(false)),
			leaf("enable", "enable a user who is disabled", "EMAIL", nil, setEnabled(true)),
			leaf("delete", "end all sessions of a user, and delete what is the user's; imported projects stay in workspaces", "EMAIL", []cli.Flag{
				yesFlag(), mediaFlag("a directory next to the database"),
			}, onStore(deleteUser)),
		},
	}
}

func tokenCommand() *cli.Command {
	return &cli.Command{
		Name: "token", Usage: "revoke the tokens of users, and rotate the key that signs access tokens",
		Commands: []*cli.Command{leaf("revoke", "end all sessions of a user", "EMAIL", nil, onStudio(revokeTokens)), rotateTokensCommand()},
	}
}

func addUser(ctx context.Context, command *cli.Command) error {
	email := command.Args().First()
	if !studio.ValidEmail(email) {
		return usagef("invalid email address")
	}
	password, err := readPassword(ctx, command)
	if err != nil {
		return err
	}
	return withNew(ctx, command, func(service *studio.Service) error {
		add := service.AddUser
		if command.Bool("operator") {
			add = func(ctx context.Context, id, email, password string) (studio.User, error) {
				return service.AddOperator(ctx, studio.User{Email: byCommand}, id, email, password)
			}
		}
		user, err := add(ctx, command.String("id"), email, password)
		if err != nil {
			return explain(err, "user")
		}
		return printLines(command, user.ID)
	})
}

func listUsers(ctx context.Context, command *cli.Command, db *store.Store) error {
	return columns[store.Account]{
		{"id", "ID", func(u store.Account) any { return u.ID }},
		{"created_at", "CREATED", func(u store.Account) any { return u.CreatedAt }},
		{"role", "ROLE", func(u store.Account) any { return cmp.Or(string(u.Role), "user") }},
		{"in_progress", "IN PROGRESS", func(u store.Account) any { return u.InProgress }},
		{"disabled_at?", "DISABLED", func(u store.Account) any { return u.DisabledAt }},
		{"email", "EMAIL", func(u store.Account) any { return u.Email }},
	}.page(ctx, command, "no users", func(ctx context.Context, after string, limit int) ([]store.Account, error) {
		return db.Users(ctx, store.UserFilter{WorkspaceID: command.String("workspace")}, after, limit)
	})
}

func setPassword(ctx context.Context, command *cli.Command) error {
	password, err := readPassword(ctx, command)
	if err != nil {
		return err
	}
	return onStudio(func(ctx context.Context, command *cli.Command, service *studio.Service) error {
		return revoked(ctx, explain(service.SetPassword(ctx, command.Args().First(), password), "user"))
	})(ctx, command)
}

func setRole(ctx context.Context, command *cli.Command, service *studio.Service) error {
	role, ok := map[string]studio.Role{"operator": studio.Operator, "user": studio.NoRole}[command.Args().Get(1)]
	if !ok {
		return usagef("the role must be operator or user")
	}
	return explain(service.ChangeRole(ctx, studio.User{Email: byCommand}, command.Args().First(), role), "user")
}

func setEnabled(enabled bool) cli.ActionFunc {
	return onStudio(func(ctx context.Context, command *cli.Command, service *studio.Service) error {
		return revoked(ctx, explain(service.SetUserEnabled(ctx, studio.User{Email: byCommand}, command.Args().First(), enabled), "user"))
	})
}

func revokeTokens(ctx context.Context, command *cli.Command, service *studio.Service) error {
	return revoked(ctx, explain(service.EndSessions(ctx, studio.User{Email: byCommand}, command.Args().First()), "user"))
}

// revoked returns the error of a revocation, or waits until all daemons have read it.
func revoked(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	return studio.AwaitRevocation(ctx)
}

func deleteUser(ctx context.Context, command *cli.Command, db *store.Store) (err error) {
	email := command.Args().First()
	files, err := openFiles(ctx, command.String("media"), db.Name())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	service := studio.New(studio.Config{Store: db, Passwords: passwordsOf(command), Media: files})
	if _, err := service.UserByEmail(ctx, email); err != nil {
		return explain(err, "user")
	}
	if err := confirm(command, "Delete "+commandline.Printable(email)+" and everything that is theirs?"); err != nil {
		return err
	}
	id, err := db.InstallationID(ctx)
	if err == nil {
		err = files.Take(ctx, false, func(mark string) (string, error) {
			owner, err := media.FilesOf(id)(mark)
			if owner != "" { // nobody has begun there
				err = media.ErrOther
			}
			return "", err
		})
	}
	switch {
	case errors.Is(err, media.ErrOther): // the user's files would stay in another place
		return usagef("--media: no files of this database are there: set the place of studiod serve, which makes it at its first start")
	case err != nil:
		return err
	}
	return explain(service.RemoveUser(ctx, studio.User{Email: byCommand}, email), "user")
}

func yesFlag() cli.Flag {
	return &cli.BoolFlag{Name: "yes", Usage: "do not ask for confirmation"}
}

// confirm asks the user on a terminal, unless --yes is set. Without a terminal, --yes is required.
func confirm(command *cli.Command, question string) error {
	if output, ok := command.Root().Writer.(*bufio.Writer); ok { // which says what is deleted
		if err := output.Flush(); err != nil {
			return err
		}
	}
	if command.Bool("yes") {
		return nil
	}
	file, ok := command.Root().Reader.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return usagef("no terminal for the confirmation; set --yes")
	}
	_, _ = fmt.Fprint(command.Root().ErrWriter, question+" [y/N] ")
	answer, err := bufio.NewReader(file).ReadString('\n')
	if err != nil {
		return err
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return usagef("nothing was deleted")
	}
	return nil
}

// readPassword reads a password from the terminal or standard input. Passwords are not accepted as
// arguments, because other users of the machine can see those.
func readPassword(ctx context.Context, command *cli.Command) (string, error) {
	password, err := readSecretLine(ctx, command.Root().Reader, command.Root().ErrWriter)
	switch {
	case err != nil:
		return "", fmt.Errorf("reading the password: %w", err)
	case !studio.ValidPassword(password):
		return "", usagef("the password must have %d to %d bytes of UTF-8", studio.MinPasswordLength, studio.MaxPasswordLength)
	}
	return password, nil
}

// readSecretLine reads a line from the terminal without echo, or the first line of another input.
func readSecretLine(ctx context.Context, in io.Reader, prompt io.Writer) (string, error) {
	file, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return commandline.ReadLine(ctx, in)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	_, _ = fmt.Fprint(prompt, "Password: ")
	defer func() { _, _ = fmt.Fprintln(prompt) }()
	return commandline.ReadPassword(ctx, int(file.Fd()))
}
