package main

import (
	"cmp"
	"errors"
	"io/fs"
	"net/http"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/client"
)

// retry lets a watch survive a restart of the service.
var retry = client.Retry{Attempts: 8} //nolint:gochecknoglobals // never changed

func serviceFlags(flags ...cli.Flag) []cli.Flag {
	return append(flags, &cli.StringFlag{Name: "base-url", Usage: "address of the service", DefaultText: "STUDIO_BASE_URL, or that of the login"})
}

func workspaceFlag() cli.Flag {
	return &cli.StringFlag{Name: "workspace", Usage: "id of the workspace whose projects are listed", DefaultText: "STUDIO_WORKSPACE, or that of the login"}
}

// service returns a client configured by the flags, the environment and the stored login. Stored tokens
// are sent only to the service that issued them.
func (p *program) service(command *cli.Command) (*client.Client, error) {
	config := p.Env
	config.BaseURL = cleanURL(cmp.Or(command.String("base-url"), config.BaseURL))
	config.Workspace = cmp.Or(command.String("workspace"), config.Workspace)
	if needs := config.Token == "" && config.Password == ""; needs || config.BaseURL == "" || config.Workspace == "" {
		file := credentials{p.Directory}
		kept, err := file.load()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		config.BaseURL = cmp.Or(config.BaseURL, kept.BaseURL)
		same := kept.BaseURL == config.BaseURL
		if same {
			config.Workspace = cmp.Or(config.Workspace, kept.Workspace)
		}
		if needs {
			if !same || kept.BaseURL == "" || config.Email != "" && config.Email != kept.Email {
				return nil, errLogin
			}
			public, err := p.newClient(client.Config{BaseURL: kept.BaseURL})
			if err != nil {
				return nil, err
			}
			config.Email = ""
			config.TokenSource = &keptTokens{file: file, api: public.Raw(), kept: kept}
		}
	}
	return p.newClient(config)
}

func (p *program) newClient(config client.Config) (*client.Client, error) {
	if config.BaseURL == "" {
		return nil, usagef("no service: give --base-url, or log in")
	}
	config.HTTPClient = &http.Client{Transport: p.transport}
	config.Retry = retry
	config.UserAgent = "avatarstudio-studio"
	c, err := client.New(config)
	if err != nil {
		return nil, usageError{err}
	}
	return c, nil
}

// cleanURL returns the same text for equivalent base URLs.
func cleanURL(text string) string { return strings.TrimRight(text, "/") }

func notKept(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errLogin
	}
	return err
}
