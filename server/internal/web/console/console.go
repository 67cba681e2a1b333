// Package console serves the web pages at /console. Users view, create and delete their avatars, videos and lip-syncs,
// and manage their webhooks, API keys, sessions and password. Operators also manage users, workspaces and the webhook
// URLs of all users, and view the state of the service.
//
// Pages are rendered on the server and work without JavaScript. With it, htmx updates them from server-sent
// events, and console.js uploads files. All resources come from this origin. The Content-Security-Policy
// forbids others, so a thumbnail on another origin is a link.
//
// The session cookie contains the refresh token of a login. The token is not rotated. A session ends when the
// user logs out, when another login of the browser replaces it, when the password changes, and when the tokens of the
// user are revoked. Cross-origin POST requests are rejected.
//
// The package has no business rules. Creations, uploads and changes of projects are sent to the API with an access
// token of the user, so they have the same limits and error messages.
package console

import (
	"cmp"
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
	"slices"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/web/asset"
)

// Path is the prefix of the paths of all pages, and homePath the path of the first one.
const (
	Path     = "/console"
	homePath = Path + "/avatars"
)

// The htmx files in assets are downloaded by "make console-assets".
//
//go:embed pages assets
var files embed.FS

const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

const (
	// maxFormBytes bounds the body of a form, and maxLoginBytes that of the login form.
	maxFormBytes  = 256 << 10
	maxLoginBytes = 8 << 10
	// maxForms bounds the concurrent forms of a user, because forms are kept in memory.
	maxForms = 16
)

// Config configures a [Console]. All fields are required except NoVideo, MailLink, Daemon, Backup, Secure and
// PollInterval.
type Config struct {
	// Studio implements the use cases of users. Forms may come from the origin of its PublicURL, also if a proxy
	// changes the Host of requests. The name of the session cookie depends on this URL.
	Studio *studio.Service
	// Store is the database of Studio.
	Store *store.Store
	// ServeFile serves the media file with the given key. The caller has checked that the user may read it.
	ServeFile func(w http.ResponseWriter, r *http.Request, key string)
	// MapError converts an error of Studio or Store to a response, as in [server.Config].
	MapError func(ctx context.Context, err error) *server.Error
	// Admit returns the response if a user has exceeded the rate limit of writes (change is true) or reads, or nil.
	// Requests that are forwarded to the API are not counted here.
	Admit func(userID string, change bool) *server.Error
	// NoVideo returns why no video can be made of an avatar, or "". Default: a video can be made of each.
	NoVideo func(avatar studio.Subject) string
	// MailLink sends a mail with the URL of a new link, for an invitation or to reset a password, in the background. It
	// reports whether it will try. The link is shown in any case. Default: no mails are sent.
	MailLink func(email, link string, purpose studio.LinkPurpose) bool
	// Daemon is shown to operators.
	Daemon Daemon
	// Backup returns the state of backups. Default: there are none.
	Backup func() studio.BackupStatus
	// Guide is the path of a guide, to which each page links. Default: there is no link.
	Guide string
	// Secure means that browsers use https, of this service or of a proxy. The session cookie is then Secure.
	Secure bool
	// Revoked reports whether a session has ended. Pages that are open then show it at once.
	Revoked func(sessionID string) bool
	// PollInterval is how often an open page is rendered, at most: with many events, and while it shows the progress of
	// a rendering, of which there are none. Default one second.
	PollInterval time.Duration
	// Logger logs errors that cause a status of 500 or above.
	Logger *slog.Logger
}

// Console serves the pages. It is safe for concurrent use.
type Console struct {
	cfg        Config
	cookieName string // without TLS
	pages      map[string]*template.Template
	forms      studio.KeyedSemaphore // by user
}

// New returns a Console.
func New(cfg Config) *Console {
	cfg.PollInterval = cmp.Or(cfg.PollInterval, time.Second)
	if cfg.NoVideo == nil {
		cfg.NoVideo = func(studio.Subject) string { return "" }
	}
	return &Console{
		cfg: cfg, cookieName: cookieName(cfg.Studio.PublicURL), pages: parsePages(), forms: studio.KeyedSemaphore{Limit: maxForms, Queue: maxForms},
	}
}

// Wrap returns a handler that serves the pages and passes all other requests to api. It is used for
// [server.Config].
func (c *Console) Wrap(api http.Handler) http.Handler {
	mux := http.NewServeMux()
	c.routes(mux, api)
	protection := http.NewCrossOriginProtection()
	if err := protection.AddTrustedOrigin(c.cfg.Studio.PublicURL); err != nil { // such as without a public URL
		c.cfg.Logger.Debug("forms must come from the host of requests", "err", err)
	}
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.fail(w, r, &server.Error{Status: http.StatusForbidden, Detail: "The form was sent from another origin."})
	}))
	pages := protection.Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != Path && !strings.HasPrefix(r.URL.Path, Path+"/") {
			api.ServeHTTP(w, r)
			return
		}
		header := w.Header()
		header.Set("Content-Security-Policy", contentSecurityPolicy)
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Referrer-Policy", "same-origin")
		header.Set("X-Content-Type-Options", "nosniff")
		if r.URL.Path != UploadsPath { // the API limits uploads
			r.Body = http.MaxBytesReader(w, r.Body, bodyLimit(r))
		}
		pages.ServeHTTP(w, r)
	})
}

// bodyLimit returns the most bytes that are read of a request body. It does not depend on the session, because
// the limit must apply before the session is checked.
func bodyLimit(r *http.Request) int64 {
	switch {
	case r.Method != http.MethodPost:
		return 0
	case r.URL.Path == loginPath:
		return maxLoginBytes
	}
	return maxFormBytes
}

func (c *Console) routes(mux *http.ServeMux, api http.Handler) {
	c.assets(mux)
	mux.HandleFunc("GET "+loginPath, c.anyone(c.showLogin))
	mux.HandleFunc("POST "+loginPath, c.anyone(c.login))
	mux.HandleFunc("POST "+Path+"/logout", c.anyone(c.logout))
	mux.HandleFunc("GET "+linkPath, c.anyone(c.showLink))
	mux.HandleFunc("POST "+linkPath, c.anyone(c.useLink))
	home := func(w http.ResponseWriter, r *http.Request, _ session) error {
		return redirect(w, r, homePath, nil)
	}
	for pattern, page := range map[string]page{
		"GET " + Path:          home,
		"GET " + Path + "/{$}": home,
		"GET " + Path + "/":    notFound,
		"GET " + projectsPath:  c.projects,

		"GET " + projectsPath + "/{id}/{file}": c.projectFile,

		"GET " + WebhooksPath:              c.webhooks,
		"POST " + WebhooksPath + "/test":   c.testWebhook,
		"POST " + WebhooksPath + "/rotate": c.rotateSecret,
		"POST " + WebhooksPath + "/set":    c.setEndpoint,
		"GET " + eventsPath:                c.events,
		"GET " + eventsPath + "/live":      c.eventsLive,
		"GET " + eventsPath + "/{id}":      c.event,
		"POST " + eventsPath + "/replay":   c.replay,

		"GET " + accountPath:                c.account,
		"POST " + accountPath + "/password": c.changePassword,
		"POST " + accountPath + "/keys":     c.addAPIKey,
		"POST " + accountPath + "/revoke":   c.revokeAPIKey,
		"POST " + accountPath + "/sessions": c.endSession,
		"POST " + accountPath + "/leave":    c.leave,

		"GET " + usersPath:                    c.requireOperator(c.users),
		"POST " + usersPath + "/invite":       c.requireOperator(c.invite),
		"POST " + usersPath + "/change":       c.requireOperator(c.changeUser),
		"POST " + usersPath + "/unshare":      c.requireOperator(c.unshare),
		"GET " + usersPath + "/delete":        c.requireOperator(c.confirmUserDelete),
		"GET " + actsPath:                     c.requireOperator(c.acts),
		"GET " + workspacesPath:               c.requireOperator(c.workspaces),
		"POST " + workspacesPath + "/change":  c.requireOperator(c.changeWorkspace),
		"GET " + endpointsPath:                c.requireOperator(c.endpoints),
		"POST " + endpointsPath + "/change":   c.requireOperator(c.changeEndpointOf),
		"GET " + servicePath:                  c.requireOperator(c.service),
		"POST " + servicePath + "/deliveries": c.requireOperator(c.pauseAll),
	} {
		mux.Handle(pattern, c.requireSession(c.rateLimited(page)))
		// A response that is no redirect stays at the path of its form, to which a login and the address bar lead.
		if form, isForm := strings.CutPrefix(pattern, "POST "); isForm {
			mux.Handle("GET "+form, c.requireSession(c.rateLimited(func(w http.ResponseWriter, r *http.Request, _ session) error {
				return redirect(w, r, path.Dir(form), nil)
			})))
		}
	}
	mux.Handle("POST "+projectsPath+"/{id}", c.requireSession(c.updateProject(api)))
	mux.Handle("POST "+UploadsPath, c.requireSession(c.upload(api)))
	for _, kind := range kinds() {
		mux.Handle("POST "+kind.Path+"/new", c.requireSession(c.createSubject(kind, api)))
		for pattern, page := range map[string]kindPage{
			"GET " + kind.Path:                    c.subjects,
			"GET " + kind.Path + "/live":          c.subjectsLive,
			"GET " + kind.Path + "/new":           c.newSubject,
			"GET " + kind.Path + "/{id}":          c.subjectPage("subject"),
			"GET " + kind.Path + "/{id}/live":     c.subjectLive,
			"GET " + kind.Path + "/{id}/delete":   c.subjectPage("delete"),
			"POST " + kind.Path + "/{id}/delete":  c.deleteSubject,
			"GET " + kind.Path + "/{id}/{file}":   c.file,
			"POST " + kind.Path + "/{id}/consent": c.consent,
		} {
			mux.Handle(pattern, c.requireSession(c.rateLimited(func(w http.ResponseWriter, r *http.Request, s session) error {
				return page(w, r, s, kind)
			})))
		}
	}
}

// assets registers the handlers of scripts, styles and icons. They need no session.
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

// page handles a request with a session. The error page shows an error that it returns.
type page func(w http.ResponseWriter, r *http.Request, s session) error

// kindPage is a page for a kind of subject.
type kindPage func(w http.ResponseWriter, r *http.Request, s session, kind kind) error

// redirect makes the browser load another page of the console, unless err is that of the act before it.
func redirect(w http.ResponseWriter, r *http.Request, path string, err error) error {
	if err == nil {
		http.Redirect(w, r, path, http.StatusSeeOther) //nolint:gosec // a path of the console
	}
	return err
}

// rateLimited applies Config.Admit to a page.
func (c *Console) rateLimited(page page) page {
	return func(w http.ResponseWriter, r *http.Request, s session) error {
		if err := c.cfg.Admit(s.ID, r.Method == http.MethodPost); err != nil {
			return err
		}
		return page(w, r, s)
	}
}

func notFound(http.ResponseWriter, *http.Request, session) error { return studio.ErrNotFound }

// fail shows the error page, and logs errors of the service.
func (c *Console) fail(w http.ResponseWriter, r *http.Request, err error) {
	problem := c.report(w, r, err)
	var detail []string
	for _, violation := range problem.Violations {
		member, element, _ := strings.Cut(strings.TrimPrefix(violation.Pointer, "/"), "/")
		if name := label(member); name != "" { // the others are of requests of programs
			if strings.Contains(element, "/") {
				name = "Each of the " + strings.ToLower(name)
			}
			detail = append(detail, name+" "+withLabels(violation.Detail)+".")
		}
	}
	if len(detail) == 0 || problem.Status != http.StatusBadRequest {
		detail = slices.Insert(detail, 0, problem.Detail)
	}
	_ = c.render(w, r, problem.Status, "error", view{
		Title: http.StatusText(problem.Status), Data: map[string]any{"Detail": strings.Join(slices.Compact(detail), " "), "RequestID": server.RequestID(r.Context())},
	}) // whose template cannot fail
}

// report returns the response for an error and sets its headers. It logs errors of the service.
func (c *Console) report(w http.ResponseWriter, r *http.Request, err error) *server.Error {
	problem := c.serverError(r, err)
	if problem.Status >= http.StatusInternalServerError {
		level := slog.LevelError
		if problem.Status == http.StatusServiceUnavailable { // the user may try again
			level = slog.LevelWarn
		}
		c.cfg.Logger.Log(r.Context(), level, "console request failed", "request_id", server.RequestID(r.Context()), "err", err)
	}
	maps.Copy(w.Header(), problem.Header)
	if problem.RetryAfter > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(math.Ceil(problem.RetryAfter.Seconds())))
	}
	return problem
}

// serverError converts any error to a status and a text for the user.
func (c *Console) serverError(r *http.Request, err error) *server.Error {
	if known := (*server.Error)(nil); errors.As(err, &known) {
		return known
	}
	if known := c.cfg.MapError(r.Context(), err); known != nil {
		return known
	}
	if errors.Is(r.Context().Err(), context.Canceled) && errors.Is(err, context.Canceled) {
		return &server.Error{Status: http.StatusBadRequest, Detail: "The browser closed the connection before the end of the request."}
	}
	return &server.Error{Status: http.StatusInternalServerError, Detail: "The service failed to process this request. Its log contains the cause, with the request ID.", Err: err}
}
