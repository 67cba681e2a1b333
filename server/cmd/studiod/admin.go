package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/acme"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/httpserver"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/metrics"
)

const (
	defaultAdminAddr    = "127.0.0.1:9090"
	noAdmin             = "off"
	maxAdminConnections = 256
	maxAdminResponse    = 8 << 20 // bytes of responses in memory
	adminWriteTimeout   = time.Minute
)

// adminConfig configures the HTTP server for operators.
type adminConfig struct {
	Addr string // "" disables the server
	// Optional means that the process starts without the server if another process uses Addr.
	Optional bool
}

func adminFlag() cli.Flag {
	return setting(&cli.StringFlag{
		Name: "admin-addr", Usage: "address of /metrics, /debug/pprof, /healthz and /readyz, for operators only; off disables it",
		Value: defaultAdminAddr,
		Validator: func(addr string) error {
			if addr != noAdmin && checkAddr(addr) != nil {
				return errors.New("must be HOST:PORT or off")
			}
			return nil
		},
	})
}

// adminConfigOf reads --admin-addr. The default address is optional, so that several daemons can run on one
// machine.
func adminConfigOf(command *cli.Command) adminConfig {
	addr := command.String("admin-addr")
	if addr == noAdmin {
		return adminConfig{}
	}
	return adminConfig{Addr: addr, Optional: !command.IsSet("admin-addr")}
}

// admin is an HTTP server for operators. It serves from the beginning of the daemon's start to the end of
// its stop, and reports the state of both.
type admin struct {
	metrics  *metrics.Metrics
	listener *httpserver.Listener
	host     string // of the configured address
	http     *http.Server
	logger   *slog.Logger
	state    atomic.Pointer[adminState]
	reported atomic.Pointer[string] // the last status of /readyz
}

type adminState struct {
	name   string        // "starting", "ready" or "stopping"
	checks []readyCheck  // of a daemon that is ready unless one fails
	acme   *acme.Manager // nil without --domain
}

// openAdmin starts the server for operators, unless it is disabled.
func (d *daemon) openAdmin(ctx context.Context) error {
	if d.cfg.Admin.Addr == "" {
		return nil
	}
	inner, err := d.cfg.Sockets.Listen(ctx, d.cfg.Admin.Addr)
	if err != nil {
		if d.cfg.Admin.Optional {
			d.noAdmin = err
			return nil
		}
		return fmt.Errorf("--admin-addr: %w", err)
	}
	host, _, _ := net.SplitHostPort(d.cfg.Admin.Addr) // Listen has accepted it
	limits := httpserver.Config{MaxConnections: maxAdminConnections, MaxResponseBytes: maxAdminResponse, Logger: d.cfg.Logger}
	a := &admin{metrics: d.metrics, listener: httpserver.New(inner, limits), host: host, logger: d.cfg.Logger}
	a.state.Store(&adminState{name: "starting"})
	a.http = d.newServer(a.handler())
	a.http.ReadTimeout, a.http.WriteTimeout = 0, adminWriteTimeout // a profile ends with the first; pprof extends the second
	a.listener.Install(a.http)
	d.onClose(a.http.Close)
	go func() { _ = a.http.Serve(a.listener) }() // until the server is closed
	d.admin = a
	return nil
}

// showAdmin reports on /readyz whether the daemon is ready, and logs the URL of the server for operators.
func (d *daemon) showAdmin(ctx context.Context) {
	switch {
	case d.admin != nil:
		d.admin.state.Store(&adminState{name: "ready", checks: d.readyChecks(), acme: d.acme})
		d.cfg.Logger.InfoContext(ctx, "serving operators", "url", "http://"+d.admin.listener.Addr().String())
	case d.noAdmin != nil:
		d.cfg.Logger.WarnContext(ctx, "admin address not available; set another --admin-addr, or off", "err", d.noAdmin)
	}
}

// handler serves no pprof command line, because it may contain a password.
func (a *admin) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.metrics.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeState(w, http.StatusOK, readiness{Status: "alive"})
	})
	mux.HandleFunc("GET /readyz", a.ready)
	mux.HandleFunc("GET /debug/pprof/", oneAtATime(pprof.Index))
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.answersTo(r.Host) {
			writeState(w, http.StatusMisdirectedRequest, readiness{Status: "unknown host: use an address, or the host of --admin-addr"})
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// answersTo reports whether a request with a Host header is served. A page in a browser on this network can send
// requests for a name of its own that it resolves to this server (DNS rebinding), but not for an address, nor for a
// name without a domain.
func (a *admin) answersTo(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	_, err = netip.ParseAddr(name)
	return err == nil || !strings.Contains(name, ".") || strings.EqualFold(name, a.host)
}

// oneAtATime rejects a request while another one is being handled. Some profiles take much memory.
func oneAtATime(next http.HandlerFunc) http.HandlerFunc {
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) {
		if !mu.TryLock() {
			server.WriteProblem(w, r, server.Busy(time.Second, nil))
			return
		}
		defer mu.Unlock()
		next(w, r)
	}
}

// stopping reports on /readyz that the daemon is stopping.
func (a *admin) stopping() {
	if a != nil {
		a.state.Store(&adminState{name: "stopping"})
	}
}
