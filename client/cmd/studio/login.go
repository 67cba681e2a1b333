package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

func (p *program) loginCommand() *cli.Command {
	return leaf("login", "log in, and store the tokens (not the password) or an API key for later commands", "", `  studio login --base-url http://127.0.0.1:8080
  studio login --email ada@example.com --password-stdin < password.txt
  studio login --token < api-key.txt
  studio login --workspace 01936f3e-7c00-7a3b-8c44-2f6f1f0a9d10`,
		serviceFlags(
			&cli.StringFlag{Name: "email", Usage: "email of the user", DefaultText: "STUDIO_EMAIL, or a prompt"},
			&cli.BoolFlag{Name: "password-stdin", Usage: "read the password from the first line of the standard input"},
			&cli.BoolFlag{Name: "token", Usage: "store an API key instead; read it from STUDIO_TOKEN, a prompt, or the first line of the standard input"},
			workspaceFlag(", and of which avatars, videos and lip-syncs become projects"),
		), p.login)
}

func (p *program) logoutCommand() *cli.Command {
	return leaf("logout", "end the session, and delete the stored tokens or API key; an API key stays valid", "", "  studio logout", nil,
		func(ctx context.Context, _ *cli.Command) error {
			file := credentials{p.Directory}
			unlock, err := file.lock(ctx)
			if err != nil {
				return err
			}
			defer unlock()
			ended := p.endSession(ctx, file)
			if ended != nil && ctx.Err() != nil { // interrupted: another logout can still end the session
				return ctx.Err()
			}
			removed := os.Remove(file.path())
			if errors.Is(removed, fs.ErrNotExist) {
				removed = nil
			}
			return errors.Join(ended, removed)
		})
}

// endSession ends the session whose tokens are stored, if there are any. The wait for the service is bounded, because
// the tokens are deleted after it.
func (p *program) endSession(ctx context.Context, file credentials) error {
	ctx, cancel := context.WithTimeout(ctx, responseTimeout)
	defer cancel()
	stored, err := file.load()
	if errors.Is(err, fs.ErrNotExist) || err == nil && stored.RefreshToken == "" {
		return nil
	}
	var c *client.Client
	if err == nil {
		c, err = p.newClient(client.Config{BaseURL: stored.BaseURL})
	}
	if err == nil {
		err = c.Logout(ctx, gen.LogoutRequest{RefreshToken: stored.RefreshToken}, client.WithRetry(client.Retry{Attempts: 2}))
	}
	if err != nil {
		err = fmt.Errorf("the tokens are deleted here, but the session goes on until it is ended in the console or expires: %w", err)
	}
	return err
}

func (p *program) login(ctx context.Context, command *cli.Command) error {
	file := credentials{p.Directory}
	before, _ := file.load() // an invalid file is replaced
	stored := login{BaseURL: cleanURL(cmp.Or(command.String("base-url"), p.Env.BaseURL, before.BaseURL))}
	stored.Workspace = cmp.Or(command.String("workspace"), p.Env.Workspace)
	if stored.BaseURL == before.BaseURL {
		stored.Workspace = cmp.Or(stored.Workspace, before.Workspace)
	}
	c, err := p.newClient(client.Config{BaseURL: stored.BaseURL, Workspace: stored.Workspace})
	if err != nil {
		return err
	}
	if command.Bool("token") {
		err = p.loginWithKey(ctx, &stored)
	} else {
		err = p.loginWithPassword(ctx, command, c, &stored)
	}
	if err != nil {
		return err
	}
	unlock, err := file.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := file.save(stored); err != nil {
		return err
	}
	if command.Bool("json") {
		return commandline.PrintJSON(p.Stdout, map[string]string{"base_url": stored.BaseURL, "email": stored.Email, "workspace": stored.Workspace})
	}
	_, err = fmt.Fprintf(p.Stdout, "logged in at %s as %s\n", commandline.Printable(stored.BaseURL), commandline.Printable(cmp.Or(stored.Email, "the user of the API key")))
	return err
}

func (p *program) loginWithPassword(ctx context.Context, command *cli.Command, c *client.Client, stored *login) (err error) {
	if stored.Email, err = p.email(ctx, command); err != nil {
		return err
	}
	password, err := p.secret(ctx, command.Bool("password-stdin"), p.Env.Password, "Password: ")
	if err != nil {
		return err
	}
	if password == "" {
		return usagef("missing password; use --password-stdin, or run the command in a terminal")
	}
	pair, err := pairOf(c.Login(ctx, gen.LoginRequest{Email: stored.Email, Password: password}))
	if err != nil {
		return err
	}
	stored.AccessToken, stored.RefreshToken = pair.AccessToken, pair.RefreshToken
	return nil
}

// loginWithKey stores an API key that the service accepts.
func (p *program) loginWithKey(ctx context.Context, stored *login) error {
	key, err := p.secret(ctx, p.Env.Token == "" && p.ReadPassword == nil, p.Env.Token, "API key: ")
	if err != nil {
		return err
	}
	if key == "" {
		return usagef("missing API key")
	}
	c, err := p.newClient(client.Config{BaseURL: stored.BaseURL, Token: client.Credential(key)})
	if err != nil {
		return err
	}
	stored.AccessToken = key
	_, err = c.ListLipsyncs(ctx, client.ListLipsyncsParams{Limit: new(1)})
	return err
}

func (p *program) email(ctx context.Context, command *cli.Command) (string, error) {
	email := cmp.Or(command.String("email"), p.Env.Email)
	if email == "" && p.ReadPassword != nil && !command.Bool("password-stdin") {
		var err error
		_, _ = fmt.Fprint(p.Stderr, "Email: ")
		if email, err = commandline.ReadLine(ctx, p.Stdin); err != nil {
			return "", err
		}
	}
	if email == "" {
		return "", usagef("missing email; use --email")
	}
	return email, nil
}

// secret reads a password or an API key from Stdin, the environment or a terminal. It does not read arguments, because
// other users can see them.
func (p *program) secret(ctx context.Context, fromStdin bool, env client.Credential, prompt string) (secret string, err error) {
	switch {
	case fromStdin:
		secret, err = commandline.ReadLine(ctx, p.Stdin)
	case env != "":
		secret = string(env)
	case p.ReadPassword != nil:
		_, _ = fmt.Fprint(p.Stderr, prompt)
		secret, err = p.ReadPassword(ctx)
		_, _ = fmt.Fprintln(p.Stderr)
	}
	return secret, err
}
