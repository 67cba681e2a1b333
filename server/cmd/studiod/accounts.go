package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/mail"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	minPasswordLength = 8
	maxPasswordLength = 1024
)

func userCommand() *cli.Command {
	return &cli.Command{
		Name: "user", Usage: "add users and set their passwords",
		Commands: []*cli.Command{
			leaf("add", "add a user, with the password asked for on a terminal or else the first line of the standard input, and print the id", "EMAIL", []cli.Flag{idFlag("user")}, addUser),
			leaf("password", "set the password of a user and end every login; access tokens run out within the hour", "EMAIL", nil, setPassword),
		},
	}
}

func workspaceCommand() *cli.Command {
	return &cli.Command{
		Name: "workspace", Usage: "add workspaces and their members",
		Commands: []*cli.Command{
			leaf("add", "add a workspace and print the id", "NAME", []cli.Flag{idFlag("workspace")}, addWorkspace),
			leaf("member", "let a user see a workspace", "WORKSPACE_ID EMAIL", nil, addMember),
		},
	}
}

func secretCommand() *cli.Command {
	return &cli.Command{
		Name: "secret", Usage: "show and rotate the secrets that sign a user's webhooks",
		Commands: []*cli.Command{
			leaf("show", "print the secrets in force, newest first", "EMAIL", nil,
				secrets((*studio.Service).WebhookSecretsInForce)),
			leaf("rotate", "add a secret; the old ones sign beside it for 24 hours", "EMAIL", nil,
				secrets((*studio.Service).RotateWebhookSecret)),
		},
	}
}

func idFlag(of string) cli.Flag {
	return &cli.StringFlag{
		Name: "id", Usage: "UUID of the " + of + ", to keep one from elsewhere", DefaultText: "a new one",
		Validator: checkID,
	}
}

func checkID(text string) error {
	if id, err := uuid.Parse(text); err != nil || id.String() != text {
		return errors.New("must be a UUID in lower case")
	}
	return nil
}

func addUser(ctx context.Context, command *cli.Command) error {
	email := command.Args().First()
	if address, err := mail.ParseAddress(email); err != nil || address.Address != email {
		return usagef("this is not an email address")
	}
	password, err := readPassword(command)
	if err != nil {
		return err
	}
	return withStudio(ctx, command, true, func(service *studio.Service) error {
		user, err := service.AddUser(ctx, command.String("id"), email, password)
		if err != nil {
			return explain(err, "user")
		}
		return printLines(command, user.ID)
	})
}

func setPassword(ctx context.Context, command *cli.Command) error {
	password, err := readPassword(command)
	if err != nil {
		return err
	}
	return withStudio(ctx, command, false, func(service *studio.Service) error {
		return explain(service.SetPassword(ctx, command.Args().First(), password), "user")
	})
}

func addWorkspace(ctx context.Context, command *cli.Command) error {
	name := strings.TrimSpace(command.Args().First())
	if name == "" {
		return usagef("a workspace needs a name")
	}
	return withStudio(ctx, command, true, func(service *studio.Service) error {
		workspace, err := service.AddWorkspace(ctx, command.String("id"), name)
		if err != nil {
			return explain(err, "workspace")
		}
		return printLines(command, workspace.ID)
	})
}

func addMember(ctx context.Context, command *cli.Command) error {
	return withStudio(ctx, command, false, func(service *studio.Service) error {
		return explain(service.AddMember(ctx, command.Args().Get(0), command.Args().Get(1)), "workspace or user")
	})
}

func secrets(get func(*studio.Service, context.Context, string) ([]studio.WebhookSecret, error)) cli.ActionFunc {
	return func(ctx context.Context, command *cli.Command) error {
		return withStudio(ctx, command, false, func(service *studio.Service) error {
			user, err := service.UserByEmail(ctx, command.Args().First())
			if err != nil {
				return explain(err, "user")
			}
			secrets, err := get(service, ctx, user.ID)
			if err != nil {
				return err
			}
			lines := make([]string, len(secrets))
			for i, secret := range secrets {
				lines[i] = secret.Secret
			}
			return printLines(command, lines...)
		})
	}
}

func printLines(command *cli.Command, lines ...string) error {
	_, err := fmt.Fprintln(command.Root().Writer, strings.Join(lines, "\n"))
	return err
}

// readPassword never takes a password from the arguments, where other users could see it.
func readPassword(command *cli.Command) (string, error) {
	password, err := readSecretLine(command.Root().Reader, command.Root().ErrWriter)
	switch {
	case err != nil:
		return "", fmt.Errorf("reading the password: %w", err)
	case !utf8.ValidString(password):
		return "", usagef("a password must be UTF-8")
	case len(password) < minPasswordLength || len(password) > maxPasswordLength:
		return "", usagef("a password has %d to %d bytes", minPasswordLength, maxPasswordLength)
	}
	return password, nil
}

func readSecretLine(in io.Reader, prompt io.Writer) (string, error) {
	if file, ok := in.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return promptPassword(int(file.Fd()), prompt)
	}
	line, err := bufio.NewReader(io.LimitReader(in, maxPasswordLength+2)).ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimRight(line, "\r\n"), err
}

// promptPassword shows nothing of what is typed, and leaves the terminal as it was when it is
// interrupted.
func promptPassword(terminal int, prompt io.Writer) (string, error) {
	state, err := term.GetState(terminal)
	if err != nil {
		return "", err
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	defer close(done)
	defer signal.Stop(interrupted)
	go func() {
		select {
		case <-interrupted:
			_ = term.Restore(terminal, state)
			os.Exit(exitFailure)
		case <-done:
		}
	}()
	_, _ = fmt.Fprint(prompt, "Password: ")
	line, err := term.ReadPassword(terminal)
	_, _ = fmt.Fprintln(prompt)
	return string(line), err
}
