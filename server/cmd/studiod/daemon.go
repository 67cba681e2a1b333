package main

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"time"

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
	"github.com/avatarstudio/avatarstudio/server/internal/operate/systemd"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/upkeep"
	"github.com/avatarstudio/avatarstudio/server/internal/render"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/store/keyring"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/telemetry/tracing"
	"github.com/avatarstudio/avatarstudio/server/internal/telemetry/tracing/otlp"
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
	ValidateResponses server.ResponseCheck
	StopTimeout       time.Duration
	Collector         string // URL of the OpenTelemetry collector; "" disables traces
	Admin             adminConfig
	Logger            *slog.Logger
}

// daemon is a running studiod: an open database, a listener, and background work.
type daemon struct {
	cfg      daemonConfig
	admin    *admin         // nil if disabled
	noAdmin  error          // why the optional server for operators did not start
	traces   *otlp.Exporter // nil if disabled
	listener *httpserver.Listener
	host     string
	store    *store.Store
	keys     *keyring.Keyring // nil if secrets are stored as plain text
	studio   *studio.Service
	sender   *sender.Sender
	media    *media.Store
	backups  *backup.Backup   // nil if there are none
	renderer io.Closer        // nil if the renderer needs no Close
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
	revocations *auth.Revocations
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
func openDaemon(ctx context.Context, cfg daemonConfig) (d *daemon, err error) {
	d = &daemon{cfg: cfg}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
			d = nil
		}
	}()
	if err := d.openMonitoring(ctx); err != nil {
		return d, err
	}
	if err := d.openMailer(); err != nil {
		return d, err
	}
	if err := d.listen(ctx); err != nil {
		return d, err
	}
	d.userRates = ratelimit.New(cfg.UserRate)
	d.revocations = &auth.Revocations{Logger: cfg.Logger}
	if err := d.openParts(ctx, store.Config{Daemon: true, OnRevoke: d.revocations.Revoke}); err != nil {
		return d, err
	}
	if d.acme != nil {
		if err := d.acme.Open(ctx, d.store); err != nil {
			return d, err
		}
	}
	if err := d.openTokens(ctx); err != nil {
		return d, err
	}
	d.revocations.Read = d.store.Revocations
	if err := d.revocations.Load(ctx, time.Now()); err != nil {
		return d, err
	}
	d.tokens.Revocations = d.revocations
	rules, err := d.studioConfig(ctx)
	if err != nil {
		return d, err
	}
	d.studio = studio.New(rules)
	d.tokens.APIKeys = &auth.APIKeys{Check: d.studio.CheckAPIKey, Now: time.Now}
	if d.admin != nil {
		d.admin.metrics.WatchStreams(d.studio.StreamCounts)
		if d.certificate != nil {
			d.admin.metrics.WatchCertificate(d.certificate.Expires)
		}
	}
	if err := d.openBackups(ctx); err != nil {
		return d, err
	}
	if err := d.openPool(ctx); err != nil {
		return d, err
	}
	d.openDeliverer()
	d.openConsole(ctx)
	bodies := ratelimit.NewBodies(uploadOperation)
	api := server.Config{
		Authenticator: d.tokens, MapError: rest.MapError,
		Logger: cfg.Logger, ValidateResponses: cfg.ValidateResponses, Wrap: d.wrap,
		Admit:      func(next http.Handler) http.Handler { return d.userRates.Admit(bodies.Admit(next)) },
		Middleware: []gen.StrictMiddlewareFunc{d.tokens.EndStreams, bodies.Middleware},
		Validation: validate.Config{
			AnonymousBodyBytes: rest.AnonymousBodyBytes,
			OperationBodyBytes: map[string]int64{uploadOperation: render.MaxInput},
		},
	}
	if d.admin != nil || d.traces != nil {
		api.OnResponse = d.recordResponse
	}
	handler, err := server.New(rest.New(d.studio), api)
	if err != nil {
		return d, err
	}
	if d.traces != nil {
		handler = &tracing.Handler{Next: handler, Tracer: d.traces.Tracer()}
	}
	handler = cfg.TrustedProxies.Handler(withDocs(handler))
	if d.certificate != nil {
		handler = withStrictTransport(handler)
	}
	d.http = d.newServer(handler)
	d.listener.Install(d.http)
	return d, nil
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

// openParts opens the parts that "serve" and "work" have in common.
func (d *daemon) openParts(ctx context.Context, cfg store.Config) (err error) {
	d.sender, err = sender.New(sender.Config{AllowHTTP: d.cfg.AllowHTTP, AllowNetworks: d.cfg.AllowNetworks})
	if err != nil {
		return commandline.Usage(err)
	}
	var newFile string
	d.keys, newFile, err = d.cfg.Keys.open(d.cfg.Database)
	if cfg.Daemon && errors.Is(err, fs.ErrNotExist) { // openSecrets fails if the database has another key
		newFile, err = d.cfg.Keys.File, nil
	}
	if err != nil {
		return err
	}
	if newFile != "" {
		d.keys = keyring.New()
	}
	cfg.Keys, cfg.Traces, cfg.Logger = d.keys, d.traces.Provider(), d.cfg.Logger
	if d.host, err = os.Hostname(); err != nil {
		return err
	}
	if d.store, err = openStore(ctx, d.cfg.Database, cfg); err != nil {
		return err
	}
	keepPrivate(ctx, d.cfg.Database, d.cfg.Logger)
	if err := d.openSecrets(ctx, newFile); err != nil {
		return err
	}
	return d.openMedia(ctx)
}

// openPool opens the renderer and the pool that runs it. The daemon's service must exist.
func (d *daemon) openPool(ctx context.Context) error {
	renderer, err := d.openRenderer(ctx)
	if err != nil {
		return err
	}
	cfg := render.Config{
		Store: d.store, Studio: d.studio, Renderer: renderer, Timeout: d.cfg.Render.Timeout, Workers: d.cfg.Render.Workers,
		Tracer: d.traces.Tracer(), Logger: d.cfg.Logger,
	}
	if d.admin != nil {
		cfg.OnRendering = d.admin.metrics.Rendered
	}
	d.pool = render.New(cfg)
	return nil
}

// openDeliverer creates the deliverer, which wakes the pool of the daemon.
func (d *daemon) openDeliverer() {
	cfg := deliver.Config{
		Store: d.store, Studio: d.studio, Sender: d.sender, Workers: d.cfg.Workers, Rate: d.cfg.Rate,
		OnRenderDue: d.pool.Wake, Tracer: d.traces.Tracer(), Logger: d.cfg.Logger,
	}
	if d.mailer != nil {
		cfg.Alert = d.mailAlert
	}
	if d.admin != nil {
		cfg.OnAttempt = d.admin.metrics.Attempted
	}
	d.deliver = deliver.New(cfg)
}

// upkeep does the upkeep of this process until stop ends. service is nil if other processes do that of the database.
func (d *daemon) upkeep(stop context.Context, service *studio.Service) {
	upkeep.Run(stop, upkeep.Config{
		Store: d.store, Studio: service, Process: store.Daemon{Host: d.host, Version: commandline.Version()}, Logger: d.cfg.Logger,
	})
}
