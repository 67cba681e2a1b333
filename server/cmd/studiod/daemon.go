package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/api/auth"
	"github.com/avatarstudio/avatarstudio/server/internal/api/ratelimit"
	"github.com/avatarstudio/avatarstudio/server/internal/api/realip"
	"github.com/avatarstudio/avatarstudio/server/internal/api/rest"
	"github.com/avatarstudio/avatarstudio/server/internal/deliver"
	"github.com/avatarstudio/avatarstudio/server/internal/media"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/acme"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/backup"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/httpserver"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/mail"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/metrics"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/systemd"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/upkeep"
	"github.com/avatarstudio/avatarstudio/server/internal/render"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/store/keyring"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/telemetry/tracing"
	"github.com/avatarstudio/avatarstudio/server/internal/web/console"
	"github.com/avatarstudio/avatarstudio/server/internal/web/share"
	"github.com/avatarstudio/avatarstudio/server/sender"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// stopTimeout is how long requests, renderings and delivery attempts in flight may take to finish when
// the daemon stops. It exceeds the timeout of an attempt.
const stopTimeout = 20 * time.Second

type daemonConfig struct {
	Addr              string
	Database          string
	Keys              keySource
	Passwords         studio.Passwords
	Render            renderConfig
	Media             string      // see media.Config; defaults to a directory beside the database
	Backup            string      // see backup.Config; "" means no backups
	PublicURL         string      // defaults to the URL of the listener
	Mail              mail.Config // without a URL, no mails are sent
	Console           bool
	Demo              bool // lends a picture of a face
	AutoConsent       bool
	AllowHTTP         bool
	AllowNetworks     []netip.Prefix
	Workers, Rate     int // see deliver.Config
	Listener          httpserver.Config
	Sockets           *systemd.Sockets // nil opens new ones
	TLSCert, TLSKey   string           // paths; "" means plain HTTP, or the certificate of Domain
	Domain            string           // "" disables ACME
	ACMEDirectory     string           // see acme.New
	HTTPAddr          string           // with Domain, where the daemon redirects to https
	UserRate          int              // see ratelimit.New
	TrustedProxies    realip.Proxies
	MaxMediaBytes     int64 // see studio.Config for this and the next one
	MaxVideoSeconds   int64
	ValidateResponses bool
	StopTimeout       time.Duration
	Collector         string // URL of the OpenTelemetry collector; "" disables traces
	Admin             adminConfig
	Logger            *slog.Logger
}

// daemon is a running studiod: an open database, a listener, and background work.
type daemon struct {
	cfg      daemonConfig
	closers  []func() error // of the open parts
	metrics  *metrics.Metrics
	admin    *admin               // nil if disabled
	noAdmin  error                // why the optional server for operators did not start
	traces   trace.TracerProvider // nil if disabled, as is the next one
	tracer   trace.Tracer
	listener *httpserver.Listener
	host     string
	store    *store.Store
	keys     *keyring.Keyring // nil if secrets are stored as plain text
	studio   *studio.Service
	sender   *sender.Sender
	media    *media.Store
	backups  *backup.Backup   // nil if there are none
	console  *console.Console // nil if the console is disabled
	http     *http.Server
	pool     *render.Pool
	deliver  *deliver.Deliverer
	mailer   *mail.Mailer // nil if no mails are sent

	certificate   certificateSource // nil without TLS
	acme          *acme.Manager     // nil without Domain, as are the next two
	plainListener *httpserver.Listener
	plain         *http.Server

	tokens      *auth.Tokens
	revocations *auth.Revocations // nil if the daemon only renders
	userRates   *ratelimit.Limiter
}

// certificateSource has the certificate for TLS.
type certificateSource interface {
	Config() *tls.Config
	Expires() time.Time // zero if there is none yet
	Run(ctx context.Context, logger *slog.Logger)
}

// openDaemon opens the listener and the database, so that problems with either are reported before the
// daemon serves.
func openDaemon(ctx context.Context, cfg daemonConfig) (*daemon, error) {
	d := &daemon{cfg: cfg, userRates: ratelimit.New(cfg.UserRate), revocations: &auth.Revocations{Logger: cfg.Logger}}
	return d, d.open(ctx, d.check, d.openMonitoring, d.openMailer, d.listen, d.openStorage, d.openAccess, d.openStudio, d.openBackups, d.openPool, d.openAPI)
}

// check checks the settings that are used when there is a database, so that a wrong one creates none.
func (d *daemon) check(ctx context.Context) (err error) {
	files, err := openFiles(ctx, d.cfg.Media, d.cfg.Database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	if path, isFile := sqlitePath(d.cfg.Database); isFile && !exists(path) {
		// A database that was lost has its keys and files, and must be restored.
		if _, _, err := d.cfg.Keys.open(d.cfg.Database, false); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, mediaTimeout)
		defer cancel()
		mark, err := files.ReadText(ctx, media.Mark) // openMedia reports other errors
		if _, other := media.FilesOf("")(mark); err == nil && other != nil {
			return usagef("--media: %s: %w", cmp.Or(d.cfg.Media, files.Name()), other)
		}
	}
	if d.cfg.Backup != "" {
		if err := backup.Check(ctx, d.cfg.Backup, files); err != nil {
			return usagef("--backup: %w", err)
		}
	}
	if program := d.cfg.Render.Program; len(program) > 0 && d.cfg.Render.Workers != noWorkers {
		if _, err := exec.LookPath(program[0]); err != nil {
			return usagef("--renderer: %w", err)
		}
	}
	return nil
}

// open opens parts of the daemon in their order. If one fails, it closes those before.
func (d *daemon) open(ctx context.Context, parts ...func(context.Context) error) error {
	for _, open := range parts {
		if err := open(ctx); err != nil {
			return errors.Join(err, d.close())
		}
	}
	return nil
}

// onClose adds a function to those that close calls, the last one first.
func (d *daemon) onClose(closer func() error) { d.closers = append(d.closers, closer) }

// close closes the open parts.
func (d *daemon) close() (err error) {
	for _, closer := range slices.Backward(d.closers) {
		err = errors.Join(err, closer())
	}
	return err
}

// openAPI creates the handler of all requests, and what it shows. All other parts must be open.
func (d *daemon) openAPI(ctx context.Context) error {
	d.openDeliverer()
	d.openConsole(ctx)
	bodies := ratelimit.NewBodies(uploadOperation)
	handler, err := server.New(rest.New(d.studio), server.Config{
		Authenticator: d.tokens, MapError: rest.MapError, OnResponse: d.recordResponse,
		Logger: d.cfg.Logger, ValidateResponses: d.cfg.ValidateResponses, Wrap: d.wrap,
		Admit:      func(next http.Handler) http.Handler { return d.userRates.Admit(bodies.Admit(next)) },
		Middleware: []gen.StrictMiddlewareFunc{bodies.Middleware, d.tokens.Middleware},
		Validation: validate.Config{
			AnonymousBodyBytes: rest.AnonymousBodyBytes,
			OperationBodyBytes: map[string]int64{uploadOperation: render.MaxInput},
		},
	})
	if err != nil {
		return err
	}
	if d.traces != nil {
		handler = &tracing.Handler{Next: handler, Tracer: d.tracer}
	}
	handler = d.cfg.TrustedProxies.Handler(withDocs(handler))
	if d.certificate != nil {
		handler = withStrictTransport(handler)
	}
	d.http = d.newServer(handler)
	d.listener.Install(d.http)
	return nil
}

// wrap adds the handlers of files, shared videos, the console and the root to next.
func (d *daemon) wrap(next http.Handler) http.Handler {
	next = d.withRoot(next)
	if d.console != nil {
		next = d.console.Wrap(next)
	}
	next = route(next, share.New(d.studio, d.media.ServeRevocable, rest.MapError), studio.SharePath)
	return route(next, d.media, media.Path)
}

// openStorage opens the sender, the database and the files.
func (d *daemon) openStorage(ctx context.Context) (err error) {
	d.sender, err = sender.New(sender.Config{AllowHTTP: d.cfg.AllowHTTP, AllowNetworks: d.cfg.AllowNetworks})
	if err != nil {
		return commandline.Usage(err)
	}
	d.onClose(func() error { d.sender.Close(); return nil })
	cfg := store.Config{Traces: d.traces, Logger: d.cfg.Logger}
	if d.revocations != nil {
		cfg.Exclusive, cfg.Delivers, cfg.OnRevoke = true, true, d.revocations.Revoke
	}
	var newFile string
	d.keys, newFile, err = d.cfg.Keys.open(d.cfg.Database, false)
	if d.revocations != nil && errors.Is(err, fs.ErrNotExist) { // openSecrets fails if the database has another key
		newFile, err = d.cfg.Keys.File, nil
	}
	if err != nil {
		return err
	}
	cfg.MustExist = d.cfg.Keys.follows(d.keys)
	if newFile != "" {
		d.keys = keyring.New()
	}
	cfg.Keys = d.keys
	if d.host, err = os.Hostname(); err != nil {
		return err
	}
	if d.store, err = openStore(ctx, d.cfg.Database, cfg); err != nil {
		return err
	}
	d.onClose(d.store.Close)
	d.metrics.Watch(d.store)
	keepPrivate(ctx, d.cfg.Database, d.cfg.Logger)
	if err := d.openSecrets(ctx, newFile); err != nil {
		return err
	}
	return d.openMedia(ctx)
}

// openAccess reads the certificate, the keys of access tokens and the revocations.
func (d *daemon) openAccess(ctx context.Context) error {
	if d.acme != nil {
		if err := d.acme.Open(ctx, d.store); err != nil {
			return err
		}
	}
	if err := d.openTokens(ctx); err != nil {
		return err
	}
	d.revocations.Read, d.tokens.Revocations = d.store.Revocations, d.revocations
	return d.revocations.Load(ctx, time.Now())
}

// openPool opens the renderer and the pool that runs it. The daemon's service must exist.
func (d *daemon) openPool(ctx context.Context) error {
	renderer, err := d.openRenderer(ctx)
	if err != nil {
		return err
	}
	d.pool = render.New(render.Config{
		Store: d.store, Studio: d.studio, Renderer: renderer, Timeout: d.cfg.Render.Timeout, Workers: d.cfg.Render.Workers,
		OnRendering: d.metrics.Rendered, Tracer: d.tracer, Logger: d.cfg.Logger,
	})
	return nil
}

// openDeliverer creates the deliverer, which wakes the pool of the daemon.
func (d *daemon) openDeliverer() {
	cfg := deliver.Config{
		Store: d.store, Studio: d.studio, Sender: d.sender, Workers: d.cfg.Workers, Rate: d.cfg.Rate,
		OnRenderDue: d.pool.Wake, OnAttempt: d.metrics.Attempted, Tracer: d.tracer, Logger: d.cfg.Logger,
	}
	if d.mailer != nil {
		cfg.Alert = d.mailAlert
	}
	d.deliver = deliver.New(cfg)
}

// upkeep does the upkeep of this process until stop ends. service is nil if other processes do that of the database.
func (d *daemon) upkeep(stop context.Context, service *studio.Service) {
	upkeep.Run(stop, upkeep.Config{
		Store: d.store, Studio: service, Process: store.Daemon{Host: d.host, Version: commandline.Version()}, Logger: d.cfg.Logger,
	})
}
