package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/operate/httpserver"
	"github.com/avatarstudio/avatarstudio/server/internal/web/console"
)

// Limits of the HTTP server.
const (
	maxHeaderBytes    = 16 << 10 // held until the client has read the response
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = 10 * time.Minute // enough for a long project list and a slow client
	idleTimeout       = 2 * time.Minute
)

// newServer returns a server with the limits of the daemon.
func (d *daemon) newServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		MaxHeaderBytes:    maxHeaderBytes,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		// OPTIONS * is handled like any other request.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(d.cfg.Logger.Handler(), slog.LevelWarn),
	}
}

func isUpload(r *http.Request) bool {
	return r.URL.Path == uploadPath || r.URL.Path == console.UploadsPath
}

// listen opens the listeners.
func (d *daemon) listen(ctx context.Context) (err error) {
	limits := d.cfg.Listener
	switch {
	case d.cfg.Domain != "":
		err = d.listenForDomain(ctx)
	case d.cfg.TLSCert != "":
		var files *httpserver.Certificate
		files, err = httpserver.LoadCertificate(d.cfg.TLSCert, d.cfg.TLSKey)
		d.certificate = files
		if err != nil {
			err = usagef("--tls-cert and --tls-key: %w", err)
		}
	}
	if err != nil {
		return err
	}
	if d.certificate != nil {
		limits.TLS = d.certificate.Config()
		d.metrics.WatchCertificate(d.certificate.Expires)
	}
	limits.Streamed = isUpload
	d.listener, err = d.listenOn(ctx, "addr", d.cfg.Addr, limits)
	return err
}

// listenOn opens a listener at the address of a flag.
func (d *daemon) listenOn(ctx context.Context, flag, addr string, limits httpserver.Config) (*httpserver.Listener, error) {
	inner, err := d.cfg.Sockets.Listen(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	limits.Logger = d.cfg.Logger
	limits.Trusted = d.cfg.TrustedProxies.Contains
	listener := httpserver.New(inner, limits)
	d.onClose(listener.Close)
	return listener, nil
}

// url returns a URL at which the daemon can be reached from this machine.
func (d *daemon) url() string {
	address := d.listener.Addr().String()
	if tcp, ok := d.listener.Addr().(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		address = fmt.Sprintf("127.0.0.1:%d", tcp.Port)
	}
	if d.certificate != nil {
		return "https://" + address
	}
	return "http://" + address
}

// strictTransport makes browsers use only https for a year after a response.
const strictTransport = "max-age=31536000"

// withStrictTransport makes browsers use only https for the host of a request (HSTS, RFC 6797). Without it, the first
// request of a visit may be plain http, which anyone on the way can change.
func withStrictTransport(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Strict-Transport-Security", strictTransport)
		next.ServeHTTP(w, r)
	})
}
