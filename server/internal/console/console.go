// Package console serves the pages at /console, on which users see and make what the API offers them.
//
// Pages are rendered here and need no script: htmx only keeps what is shown up to date, by server-sent
// events, and a few lines of ours send files. Everything comes from this origin, and the
// Content-Security-Policy forbids anything else: a thumbnail of another origin is a link.
//
// A session is the refresh token of a login in a cookie. It is never exchanged, and ends with
// the other tokens of the user: when the password changes, and when they are revoked. Requests
// that change something must come from a page of this origin.
//
// The package has no rules of its own. What a form creates is sent to the API as its user would send it,
// so that a form is refused in the same words. Operators see more: who uses the service, and what waits.
package console

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/asset"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Path is what the path of every page begins with.
const Path = "/console"

// "make console-assets" takes the libraries among the assets from npm.
//
//go:embed pages assets
var files embed.FS

// policy allows what this origin serves.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

const (
	// maxForm is how many bytes a form may have, and maxLogin that of somebody who is not signed in yet.
	maxForm  = 256 << 10
	maxLogin = 16 << 10
	// maxChanges is how many requests of a user may change something at once: forms are held in memory.
	maxChanges = 16
)

// Config says what the pages show. Every field but Admit, Daemon, Secure and Poll is required.
type Config struct {
	// Studio is the domain.
	Studio *studio.Service
	// Store is what the domain is kept in.
	Store *store.Store
	// ServeFile serves the file of a key to who may have it.
	ServeFile func(w http.ResponseWriter, r *http.Request, key string)
	// MapError is the answer to an error of the domain, as in [server.Config].
	MapError func(ctx context.Context, err error) *server.Error
	// Admit returns an error when a user has made too many requests of those that change something, or of
	// those that read. It is not asked about what is sent to the API. Default: it admits all.
	Admit func(userID string, change bool) error
	// Daemon is shown to operators.
	Daemon Daemon
	// Secure says that browsers reach the service by https, although a proxy does not.
	Secure bool
	// Poll is how often a page looks for what has changed. Default one second.
	Poll time.Duration
	// Logger hears why a page could not be shown.
	Logger *slog.Logger
}

// Console serves the pages.
type Console struct {
	cfg     Config
	pages   map[string]*template.Template
	streams *tally
	changes *tally
	stop    func()
	stopped chan struct{}
}

// New makes a Console.
func New(cfg Config) (*Console, error) {
	if cfg.Poll <= 0 {
		cfg.Poll = time.Second
	}
	if cfg.Admit == nil {
		cfg.Admit = func(string, bool) error { return nil }
	}
	c := &Console{cfg: cfg, streams: newTally(maxStreams), changes: newTally(maxChanges), stopped: make(chan struct{})}
	c.stop = sync.OnceFunc(func() { close(c.stopped) })
	var err error
	c.pages, err = parsePages()
	return c, err
}

// Stop ends what keeps pages up to date. They ask again until there is a service.
func (c *Console) Stop() { c.stop() }

// Wrap serves the pages beside the operations of an API, for [server.Config].
func (c *Console) Wrap(api http.Handler) http.Handler {
	mux := http.NewServeMux()
	c.routes(mux, api)
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.fail(w, r, &server.Error{Status: http.StatusForbidden, Detail: "This form was sent by a page of another origin."})
	}))
	pages := protection.Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != Path && !strings.HasPrefix(r.URL.Path, Path+"/") {
			api.ServeHTTP(w, r)
			return
		}
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Referrer-Policy", "same-origin")
		header.Set("X-Content-Type-Options", "nosniff")
		if r.URL.Path != UploadsPath { // the API limits what is uploaded
			r.Body = http.MaxBytesReader(w, r.Body, bodyLimit(r))
		}
		pages.ServeHTTP(w, r)
	})
}

// bodyLimit is for a request of which nothing has been read, not even who makes it.
func bodyLimit(r *http.Request) int64 {
	switch {
	case r.Method != http.MethodPost:
		return 0
	case r.URL.Path == loginPath:
		return maxLogin
	}
	return maxForm
}

func (c *Console) routes(mux *http.ServeMux, api http.Handler) {
	c.assets(mux)
	mux.HandleFunc("GET "+loginPath, c.showLogin)
	mux.HandleFunc("POST "+loginPath, c.login)
	mux.HandleFunc("POST "+Path+"/logout", c.logout)
	home := func(w http.ResponseWriter, r *http.Request, _ session) error {
		http.Redirect(w, r, Path+"/projects", http.StatusSeeOther)
		return nil
	}
	for pattern, page := range map[string]page{
		"GET " + Path:          home,
		"GET " + Path + "/{$}": home,
		"GET " + Path + "/":    notFound,
		"GET " + projectsPath:  c.projects,

		"GET " + webhooksPath:              c.webhooks,
		"POST " + webhooksPath + "/test":   c.testWebhook,
		"POST " + webhooksPath + "/rotate": c.rotateSecret,
		"POST " + webhooksPath + "/enable": c.enableReceiver,
		"GET " + eventsPath:                c.events,
		"GET " + eventsPath + "/{id}":      c.event,
		"POST " + eventsPath + "/replay":   c.replay,

		"GET " + usersPath:   c.forOperators(c.users),
		"GET " + servicePath: c.forOperators(c.service),
	} {
		mux.Handle(pattern, c.signedIn(c.admitted(page)))
	}
	mux.Handle("POST "+UploadsPath, c.signedIn(c.upload(api)))
	for _, kind := range kinds() {
		mux.Handle("POST "+kind.Path+"/new", c.signedIn(c.createSubject(kind, api)))
		for pattern, page := range map[string]page{
			"GET " + kind.Path:                    c.subjects(kind),
			"GET " + kind.Path + "/live":          c.subjectsLive(kind),
			"GET " + kind.Path + "/new":           c.newSubject(kind),
			"GET " + kind.Path + "/{id}":          c.subject(kind),
			"GET " + kind.Path + "/{id}/live":     c.subjectLive(kind),
			"GET " + kind.Path + "/{id}/delete":   c.askDelete(kind),
			"POST " + kind.Path + "/{id}/delete":  c.deleteSubject(kind),
			"GET " + kind.Path + "/{id}/{file}":   c.file(kind),
			"POST " + kind.Path + "/{id}/consent": c.consent(kind),
		} {
			mux.Handle(pattern, c.signedIn(c.admitted(page)))
		}
	}
}

// assets serves the files that pages need, to anybody.
func (c *Console) assets(mux *http.ServeMux) {
	types := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8"}
	entries, _ := files.ReadDir("assets") // embedded
	for _, entry := range entries {
		content, _ := files.ReadFile("assets/" + entry.Name())
		name, compressed := strings.CutSuffix(entry.Name(), ".gz")
		file := asset.New
		if compressed {
			file = asset.NewCompressed
		}
		mux.Handle("GET "+Path+"/assets/"+name, file(types[path.Ext(name)], content))
	}
}

// page answers a request of somebody who is signed in. An error is shown on a page of its own.
type page func(w http.ResponseWriter, r *http.Request, s session) error

// admitted shows a page to who has not made too many requests. The API counts those that are sent to it.
func (c *Console) admitted(page page) page {
	return func(w http.ResponseWriter, r *http.Request, s session) error {
		if err := c.cfg.Admit(s.ID, r.Method == http.MethodPost); err != nil {
			return err
		}
		return page(w, r, s)
	}
}

func notFound(http.ResponseWriter, *http.Request, session) error { return studio.ErrNotFound }

// fail shows an error.
func (c *Console) fail(w http.ResponseWriter, r *http.Request, err error) {
	answer := c.answer(r, err)
	if answer.Status >= http.StatusInternalServerError {
		c.cfg.Logger.ErrorContext(r.Context(), "page not shown", "request_id", server.RequestID(r.Context()), "err", err)
	}
	maps.Copy(w.Header(), answer.Header)
	if answer.RetryAfter > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(math.Ceil(answer.RetryAfter.Seconds())))
	}
	c.render(w, r, answer.Status, "error", view{
		Title: http.StatusText(answer.Status), Data: map[string]any{"Detail": answer.Detail, "RequestID": server.RequestID(r.Context())},
	})
}

// answer is what an error is shown as.
func (c *Console) answer(r *http.Request, err error) *server.Error {
	if known := (*server.Error)(nil); errors.As(err, &known) {
		return known
	}
	if known := c.cfg.MapError(r.Context(), err); known != nil {
		return known
	}
	return &server.Error{Status: http.StatusInternalServerError, Detail: "The service failed. The log has the cause beside the id of this request.", Err: err}
}
