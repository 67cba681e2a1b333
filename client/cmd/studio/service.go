package main

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/client"
)

// attempts are enough for a watch to continue after a restart of the service.
const attempts = 8

func serviceFlags(flags ...cli.Flag) []cli.Flag {
	return append(flags, &cli.StringFlag{Name: "base-url", Usage: "address of the service", DefaultText: "STUDIO_BASE_URL, or the stored address"})
}

func workspaceFlag(also string) cli.Flag {
	return &cli.StringFlag{Name: "workspace", Usage: "id of the workspace whose projects are listed" + also, DefaultText: "STUDIO_WORKSPACE, or the stored workspace"}
}

// service returns a client configured by the flags, the environment and the stored login. Stored tokens
// are sent only to the service that issued them.
func (p *program) service(command *cli.Command) (*client.Client, error) {
	config := p.Env
	config.BaseURL = cleanURL(cmp.Or(command.String("base-url"), config.BaseURL))
	config.Workspace = cmp.Or(command.String("workspace"), config.Workspace)
	if needs := config.Token == "" && config.Password == ""; needs || config.BaseURL == "" || config.Workspace == "" {
		file := credentials{p.Directory}
		stored, err := file.load()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		config.BaseURL = cmp.Or(config.BaseURL, stored.BaseURL)
		same := stored.BaseURL == config.BaseURL
		if same {
			config.Workspace = cmp.Or(config.Workspace, stored.Workspace)
		}
		if needs {
			if !same || stored.BaseURL == "" || config.Email != "" && config.Email != stored.Email {
				return nil, errLogin
			}
			public, err := p.newClient(client.Config{BaseURL: stored.BaseURL})
			if err != nil {
				return nil, err
			}
			config.Email = ""
			config.TokenSource = &storedTokens{file: file, api: public, stored: stored}
		}
	}
	takesWorkspace := slices.ContainsFunc(command.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), "workspace") })
	if takesWorkspace && config.Workspace == "" {
		return nil, usagef("missing workspace; use --workspace, or set STUDIO_WORKSPACE")
	}
	return p.newClient(config)
}

func (p *program) newClient(config client.Config) (*client.Client, error) {
	if config.BaseURL == "" {
		return nil, usagef("missing address of the service; use --base-url, or log in")
	}
	config.Transport = unreachable{p.transport}
	config.Retry = p.retry
	config.UserAgent = "avatarstudio-studio"
	c, err := client.New(config)
	if err != nil {
		return nil, usagef("the flags, the environment or the stored login: %w", err)
	}
	return c, nil
}

// An unreachable transport says how to reach another service if there is none at the address.
type unreachable struct{ http.RoundTripper }

func (u unreachable) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := u.RoundTripper.RoundTrip(r)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, new(*net.DNSError)):
		err = fmt.Errorf("%w; --base-url or STUDIO_BASE_URL sets the address of the service", err)
	case (errors.Is(err, io.EOF) || errors.As(err, new(tls.RecordHeaderError))) && r.URL.Scheme == "https": // no TLS
		err = fmt.Errorf("%w; if the service has no https, --base-url or STUDIO_BASE_URL begins with http://", err)
	}
	return response, err
}

// cleanURL returns the same text for equivalent base URLs.
func cleanURL(text string) string { return strings.TrimRight(text, "/") }
