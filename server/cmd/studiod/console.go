package main

import (
	"net/http"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/internal/console"
	"github.com/avatarstudio/avatarstudio/server/internal/rest"
)

// withConsole serves the console beside an API, unless it is switched off.
func (d *daemon) withConsole(api http.Handler) http.Handler {
	if d.console == nil {
		return api
	}
	return d.console.Wrap(api)
}

// openConsole makes the console of a daemon whose domain is there.
func (d *daemon) openConsole() (err error) {
	if !d.cfg.Console {
		return nil
	}
	d.console, err = console.New(console.Config{
		Studio: d.studio, Store: d.store, ServeFile: d.media.ServeFile, MapError: rest.MapError,
		Secure: d.cfg.TLSCert != "" || strings.HasPrefix(d.cfg.PublicURL, "https:"), Logger: d.cfg.Logger,
	})
	return err
}
