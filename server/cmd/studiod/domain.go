package main

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/acme"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/httpserver"
)

// maxPlainConnections limits the connections of the server of plain HTTP, which only redirects.
const maxPlainConnections = 256

// acmeVariable is the environment variable with the URL of another certificate authority. It has no flag, because only
// an organization with an authority of its own needs it.
const acmeVariable = "STUDIO_ACME_DIRECTORY"

// domainOf reads the flags --domain and --http-addr.
func domainOf(command *cli.Command, cfg *daemonConfig) error {
	cfg.Domain = command.String("domain")
	if cfg.Domain == "" {
		if command.IsSet("http-addr") {
			return usagef("--http-addr needs --domain")
		}
		return nil
	}
	if cfg.TLSCert != "" {
		return usagef("--domain gets a certificate, so it excludes --tls-cert and --tls-key")
	}
	if !command.IsSet("addr") {
		cfg.Addr = ":443"
	}
	if cfg.PublicURL == "" {
		cfg.PublicURL = "https://" + strings.ToLower(cfg.Domain)
	}
	cfg.HTTPAddr, cfg.ACMEDirectory = command.String("http-addr"), cmp.Or(os.Getenv(acmeVariable), acme.LetsEncrypt)
	if u, err := url.Parse(cfg.ACMEDirectory); err != nil || u.Scheme != "https" || u.Host == "" {
		return usagef("%s must be an https URL", acmeVariable)
	}
	return nil
}

// listenForDomain opens the listener of plain HTTP. The certificate is read when the database is open.
func (d *daemon) listenForDomain(ctx context.Context) (err error) {
	if d.acme, err = acme.New(d.cfg.Domain, d.cfg.ACMEDirectory); err != nil {
		return usagef("--domain: %w", err)
	}
	d.certificate = d.acme
	inner, err := d.listenOn(ctx, "http-addr", d.cfg.HTTPAddr, httpserver.Config{MaxConnections: maxPlainConnections})
	if err != nil {
		return err
	}
	target, err := url.Parse(d.cfg.PublicURL)
	if err != nil {
		return commandline.Usage(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+acme.ChallengePath, d.acme.Challenge)
	mux.Handle("/", redirectTo(target))
	d.plainListener, d.plain = inner, d.newServer(mux)
	inner.Install(d.plain)
	d.onClose(d.plain.Close)
	return nil
}

// redirectTo redirects to the scheme and the host of a URL. It rejects requests that a browser does not make for a
// page, because they have probably sent a secret in clear.
func redirectTo(target *url.URL) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			server.WriteProblem(w, r, &server.Error{Status: http.StatusBadRequest, Detail: "Use https."})
			return
		}
		to := url.URL{Scheme: target.Scheme, Host: target.Host, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
		http.Redirect(w, r, to.String(), http.StatusPermanentRedirect)
	})
}
