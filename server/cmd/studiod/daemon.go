package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/api/standardwebhooks"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/auth"
	"github.com/avatarstudio/avatarstudio/server/internal/console"
	"github.com/avatarstudio/avatarstudio/server/internal/jobs"
	"github.com/avatarstudio/avatarstudio/server/internal/keyring"
	"github.com/avatarstudio/avatarstudio/server/internal/listener"
	"github.com/avatarstudio/avatarstudio/server/internal/media"
	"github.com/avatarstudio/avatarstudio/server/internal/ratelimit"
	"github.com/avatarstudio/avatarstudio/server/internal/realip"
	"github.com/avatarstudio/avatarstudio/server/internal/render"
	"github.com/avatarstudio/avatarstudio/server/internal/rest"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/turns"
	"github.com/avatarstudio/avatarstudio/server/sender"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// Limits of the HTTP server.
const (
	maxHeaderBytes    = 64 << 10
	maxAnonymousBody  = 16 << 10 // of operations without a token
	maxReading        = 8 << 20  // of bodies at once, so that no address gets to the limit of the listener
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = 10 * time.Minute // a long project list to a slow reader
	idleTimeout       = 2 * time.Minute
	// stopTimeout bounds how long requests, renderings and attempts in flight may take to finish
	// when the daemon stops. It is above the deadline of an attempt.
	stopTimeout = 20 * time.Second
)

// Names of the keys that are kept in the database.
const (
	cursorKeyName = "cursor"
)

type daemonConfig struct {
	Addr              string
	Database          string
	Keys              keySource
	Render            renderConfig
	Media             string // see media.Config; "" is beside the database
	MediaURLTTL       time.Duration
	MaxUpload         int64  // bytes; 0 is 300 MB
	PublicURL         string // "" is the listener's
	Docs              bool
	Console           bool
	AutoConsent       bool
	AllowHTTP         bool
	AllowNetworks     []netip.Prefix
	Workers           int // this and the next two: see jobs.Config
	InFlight          int
	Rate              int
	Listener          listener.Config
	TLSCert, TLSKey   string           // files; "" is plain HTTP
	UserRates         ratelimit.Config // but Announce and Logger
	TrustedProxies    realip.Proxies
	MaxInProgress     int // this and the next: see studio.Config
	MaxMediaBytes     int64
	ValidateResponses server.ResponseCheck
	StopTimeout       time.Duration
	Admin             adminConfig
	Logger            *slog.Logger
}

// daemon is an open database, a bound port and the work that is due.
type daemon struct {
	cfg      daemonConfig
	admin    *admin // nil for none
	noAdmin  error  // why there is none
	listener *listener.Listener
	store    *store.Store
	keys     *keyring.Keyring // nil leaves secrets in clear
	studio   *studio.Service
	sender   *sender.Sender
	media    *media.Store
	renderer io.Closer        // nil when there is nothing to close
	console  *console.Console // nil when it is switched off
	http     *http.Server
	trigger  *jobs.Trigger

	certificate *listener.Certificate // nil without TLS
	tokens      *auth.Tokens
	revocations *auth.Revocations
	userRates   *ratelimit.Limiter
}

// openDaemon binds the port and opens the database, so that what is wrong with either shows
// before anything is served.
func openDaemon(ctx context.Context, cfg daemonConfig) (d *daemon, err error) {
	d = &daemon{cfg: cfg}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
			d = nil
		}
	}()
	if err := d.openAdmin(ctx); err != nil {
		return d, err
	}
	if err := d.listen(ctx); err != nil {
		return d, err
	}
	rates := cfg.UserRates
	rates.Logger = cfg.Logger
	if !isSQLite(cfg.Database) {
		rates.Announce = func(ctx context.Context, message string) error { return d.store.AnnounceUse(ctx, message) }
	}
	d.userRates = ratelimit.New(rates)
	if err := d.openParts(ctx, store.Config{Daemon: true, OnUse: d.userRates.Hear}); err != nil {
		return d, err
	}
	if err := d.openTokens(ctx); err != nil {
		return d, err
	}
	d.revocations = &auth.Revocations{Read: d.store.Revocations, Logger: cfg.Logger}
	if err := d.revocations.Load(ctx, time.Now()); err != nil {
		return d, err
	}
	d.tokens.Revocations = d.revocations
	cursors, err := d.store.Key(ctx, cursorKeyName, newKey)
	if err != nil {
		return d, err
	}
	d.studio = studio.New(d.studioConfig(cursors))
	if err := d.openConsole(); err != nil {
		return d, err
	}
	api := server.Config{
		Authenticator: server.AuthenticatorFunc(d.tokens.Authenticate), Admit: d.userRates.Admit, MapError: rest.MapError,
		Logger: cfg.Logger, ValidateResponses: cfg.ValidateResponses, Wrap: d.wrap,
		Validation: validate.Config{
			AnonymousBodyBytes: maxAnonymousBody,
			OperationBodyBytes: map[string]int64{uploadOperation: cmp.Or(cfg.MaxUpload, defaultMaxUpload)},
		},
	}
	if d.admin != nil {
		api.OnAnswer = d.admin.metrics.Answered
	}
	handler, err := server.New(rest.New(d.studio), api)
	if err != nil {
		return d, err
	}
	if cfg.Docs {
		if handler, err = withDocs(handler); err != nil {
			return d, err
		}
	}
	d.http = &http.Server{
		Handler:           cfg.TrustedProxies.Handler(d.withPublicKeys(handler)),
		MaxHeaderBytes:    maxHeaderBytes,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		// OPTIONS * is answered as any other request.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelWarn),
	}
	if d.console != nil {
		d.http.RegisterOnShutdown(d.console.Stop)
	}
	d.listener.Install(d.http)
	work, err := d.openJobs(ctx)
	if err != nil {
		return d, err
	}
	d.trigger, err = jobs.NewTrigger(work)
	return d, err
}

// wrap puts around the API what is not part of it.
func (d *daemon) wrap(next http.Handler) http.Handler {
	return d.serveMedia(d.withConsole(&turns.Handler{
		Next: next, Reading: turns.New(turns.Config{Bytes: maxReading}), Working: turns.New(turns.Config{}), Streamed: isUpload,
	}))
}

func isUpload(r *http.Request) bool {
	return r.URL.Path == uploadPath || r.URL.Path == console.UploadsPath
}

// listen binds the port.
func (d *daemon) listen(ctx context.Context) (err error) {
	limits := d.cfg.Listener
	if d.cfg.TLSCert != "" {
		if d.certificate, err = listener.LoadCertificate(d.cfg.TLSCert, d.cfg.TLSKey); err != nil {
			return usageError{err}
		}
		limits.TLS = d.certificate.Config()
	}
	inner, err := new(net.ListenConfig).Listen(ctx, "tcp", d.cfg.Addr)
	if err != nil {
		return err
	}
	limits.Logger = d.cfg.Logger
	limits.Streamed = isUpload
	limits.Trusted = d.cfg.TrustedProxies.Contains
	d.listener = listener.New(inner, limits) //nolint:contextcheck // it lives until it is closed
	return nil
}

// openParts opens what a daemon and a worker have in common.
func (d *daemon) openParts(ctx context.Context, cfg store.Config) (err error) {
	d.sender, err = sender.New(sender.Config{AllowHTTP: d.cfg.AllowHTTP, AllowNetworks: d.cfg.AllowNetworks})
	if err != nil {
		return usageError{err}
	}
	var newFile string
	if d.keys, newFile, err = d.cfg.Keys.open(d.cfg.Database); err != nil {
		return err
	}
	if newFile != "" {
		d.keys = keyring.New()
	}
	cfg.Keys = d.keys
	if d.store, err = openStore(ctx, d.cfg.Database, cfg); err != nil {
		return err
	}
	keepPrivate(ctx, d.cfg.Database, d.cfg.Logger)
	if err := d.openSecrets(ctx, newFile); err != nil {
		return err
	}
	return d.openMedia(ctx)
}

// openJobs makes what does the work, once the domain is there.
func (d *daemon) openJobs(ctx context.Context) (*jobs.Jobs, error) {
	renderer, err := d.openRenderer(ctx)
	if err != nil {
		return nil, err
	}
	cfg := jobs.Config{
		Store: d.store, Studio: d.studio, Sender: d.sender,
		Renderer: renderer, RenderTimeout: d.cfg.Render.Timeout, RenderWorkers: d.cfg.Render.Workers, Logger: d.cfg.Logger,
		Workers: d.cfg.Workers, InFlight: d.cfg.InFlight, Rate: d.cfg.Rate,
	}
	if d.admin != nil {
		cfg.OnAttempt, cfg.OnRendering = d.admin.metrics.Attempted, d.admin.metrics.Rendered
	}
	return jobs.New(cfg), nil
}

// renderingConfig is the part of the domain's configuration that rendering needs.
func (d *daemon) renderingConfig() studio.Config {
	cfg := studioConfig(d.store)
	cfg.Media = d.media
	if d.cfg.AutoConsent {
		cfg.AutoConsent = render.Consent
	}
	return cfg
}

func (d *daemon) studioConfig(cursors []byte) studio.Config {
	cfg := d.renderingConfig()
	cfg.CursorKey = cursors
	cfg.MaxInProgress, cfg.MaxMediaBytes = d.cfg.MaxInProgress, d.cfg.MaxMediaBytes
	cfg.SendWebhook = d.sendWebhook
	cfg.IssueAccessToken = d.tokens.Issue
	cfg.CheckWebhook = func(url string) (canonical string, refusal *studio.InvalidError) {
		canonical, err := d.sender.CanonicalURL(url)
		if refused := (*sender.RefusedError)(nil); errors.As(err, &refused) {
			code := "webhook_url_invalid"
			if refused.NotPublic {
				code = "webhook_url_not_public"
			}
			return "", &studio.InvalidError{Code: code, Detail: refused.Reason}
		}
		return canonical, nil
	}
	return cfg
}

// sendWebhook makes one attempt that is not recorded.
func (d *daemon) sendWebhook(ctx context.Context, url string, event studio.Event, secrets []string) studio.WebhookAttempt {
	message := sender.Message{URL: url, ID: event.ID, Sequence: event.Sequence, Body: event.Body}
	for _, text := range secrets {
		secret, err := standardwebhooks.ParseSecret(text)
		if err != nil { // the message is then invalid
			break
		}
		message.Secrets = append(message.Secrets, secret)
	}
	sent := d.sender.Send(ctx, message)
	return studio.WebhookAttempt{
		Delivered: sent.Delivered(), Status: sent.Status, Duration: sent.Duration, Failure: string(sent.Failure),
	}
}

func newKey() []byte { return []byte(rand.Text()) }

// url is where the daemon can be reached.
func (d *daemon) url() string {
	if d.certificate != nil {
		return "https://" + d.listener.Addr().String()
	}
	return "http://" + d.listener.Addr().String()
}

// run serves until ctx ends, and then stops: no new work, no new requests, and at last the
// database. What is in flight may finish within the stop timeout.
func (d *daemon) run(ctx context.Context) error {
	work, cutOff := context.WithCancel(context.WithoutCancel(ctx))
	defer cutOff()
	stop, stopWork := context.WithCancel(work)
	read, stopReading := context.WithCancel(work)
	defer stopReading()
	var working, reading sync.WaitGroup
	working.Go(func() { d.trigger.Run(work, stop) })
	working.Go(func() { d.sweepMedia(stop) })
	reading.Go(func() { d.revocations.Run(read) }) // for as long as requests are answered
	reading.Go(func() { d.tokens.RunKeys(read, d.readSigningKeys, d.cfg.Logger) })
	if d.certificate != nil {
		reading.Go(func() { d.certificate.Run(read, d.cfg.Logger) })
	}
	reading.Go(func() { d.userRates.Run(read) })

	served := make(chan error, 1)
	go func() { served <- d.http.Serve(d.listener) }()
	d.showAdmin(ctx)
	d.cfg.Logger.InfoContext(ctx, "serving", "url", d.url())

	var err error
	select {
	case err = <-served:
	case <-d.store.Lost():
		err = store.ErrLost
		cutOff() // nothing can be recorded any more
	case <-ctx.Done():
	}
	d.admin.stopping()
	stopWork()
	d.cfg.Logger.InfoContext(ctx, "stopping")
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.cfg.StopTimeout)
	defer cancel()
	context.AfterFunc(bound, cutOff)
	shutdown := d.http.Shutdown(bound)
	if errors.Is(shutdown, context.DeadlineExceeded) {
		shutdown = d.http.Close()
	}
	working.Wait()
	stopReading()
	reading.Wait()
	d.cfg.Logger.InfoContext(ctx, "stopped")
	return errors.Join(err, shutdown, d.close())
}

// close releases what openDaemon took.
func (d *daemon) close() error {
	errs := []error{d.admin.close()}
	if d.listener != nil {
		if err := d.listener.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if d.sender != nil {
		d.sender.Close()
	}
	if d.renderer != nil {
		errs = append(errs, d.renderer.Close())
	}
	if d.media != nil {
		errs = append(errs, d.media.Close())
	}
	if d.store != nil {
		errs = append(errs, d.store.Close())
	}
	return errors.Join(errs...)
}
