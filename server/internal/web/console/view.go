package console

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// view is the data of the layout of a page.
type view struct {
	Title   string
	Section string // the path of the current link in the navigation
	Notice  string // the result of the last action; "" for none
	Data    any    // the data of the page itself

	Guide    string      // see [Config]
	User     studio.User // zero without a session
	Sections []section
}

// section is a link in the navigation.
type section struct{ Title, Path string }

func sections(user studio.User) []section {
	var all []section
	for _, kind := range kinds() {
		all = append(all, section{kind.Title, kind.Path})
	}
	all = append(all, section{"Projects", projectsPath}, section{"Webhooks", WebhooksPath}, section{"Events", eventsPath}, section{"Account", accountPath})
	if user.Role == studio.Operator {
		all = append(all, section{"Users", usersPath}, section{"Service", servicePath})
	}
	return all
}

// notices are the texts for the values of the done parameter, which redirects after an action set.
//
//nolint:gochecknoglobals // a table
var notices = map[string]string{
	"key-revoked":       "The API key is revoked.",
	"password":          "The password is changed. All other sessions have ended.",
	"session-ended":     "The session has ended.",
	"left":              "Your account is deleted, with everything that was yours.",
	"no-cookie":         "Your browser has not kept the cookie of your session. Allow cookies, or open this page over https.",
	"welcome":           "Welcome.",
	"user-end-sessions": "The sessions of the user have ended.",
	"user-disable":      "The user is disabled. All sessions have ended, and API keys are not accepted.",
	"user-enable":       "The user is enabled.",
	"user-delete":       "The user is deleted.",
	"user-operator":     "The user is an operator now.",
	"user-user":         "The user is no operator any more.",
	"rotated":           "The secret was rotated. The previous secret also signs for another 24 hours.",
	"enabled":           "The endpoint is enabled.",
	"paused":            "The endpoint is paused. Its events wait until you enable it.",
	"still-paused":      "The endpoint is enabled, but nothing is sent yet: an operator of this service has paused notifications.",
	"replayed":          "The events are being sent again.",
	"created":           "It has been created.",
	"deleted":           "It has been deleted.",
	"consent-given":     "Consent is given.",
	"consent-refused":   "Consent is refused.",
	"saved":             "The changes are saved.",
	"shared":            "It is shared. Anyone who has the link can watch it.",
	"unshared":          "It is no longer shared. The link does not work any more.",
}

type sessionKey struct{}

func withSession(r *http.Request, s session) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), sessionKey{}, s))
}

// parsePages parses the templates. The pages include the layout. The name "" is the set of shared fragments.
func parsePages() map[string]*template.Template {
	shared := template.Must(template.New("").Funcs(functions()).ParseFS(files, "pages/layout.html", "pages/parts.html"))
	pages := map[string]*template.Template{"": shared}
	entries, _ := files.ReadDir("pages") // embedded
	for _, entry := range entries {
		page := template.Must(shared.Clone())
		pages[strings.TrimSuffix(entry.Name(), ".html")] = template.Must(page.ParseFS(files, "pages/"+entry.Name()))
	}
	return pages
}

func functions() template.FuncMap {
	return template.FuncMap{
		"iso":      func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"datetime": func(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04:05 UTC") },
		"day":      func(t time.Time) string { return t.UTC().Format("2 Jan 2006") },
		"age":      duration,
		"size":     size,
		"count":    count,
		"label":    label,
		"result":   resultText,
		"wait":     wait,
		"last":     lastResult,
		"url":      studio.WithoutQuery, // for URLs of webhooks, whose queries may contain secrets
		"state":    func(s studio.Status) string { return words(string(s)) },
		"words":    words,
	}
}

// size formats a number of bytes.
func size(bytes int64) string {
	if bytes < 1e6 {
		return fmt.Sprintf("%.1f kB", float64(bytes)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
}

// words returns a status in words.
func words(status string) string { return strings.ReplaceAll(status, "_", " ") }

// count formats a number that was counted up to limit.
func count(n, limit int) string {
	if n >= limit {
		return fmt.Sprint(limit, " or more")
	}
	return fmt.Sprint(n)
}

// render writes a page. If its template fails, nothing is written.
func (c *Console) render(w http.ResponseWriter, r *http.Request, status int, name string, v view) error {
	if s, ok := r.Context().Value(sessionKey{}).(session); ok && s.token != "" {
		v.User, v.Sections = s.User, sections(s.User)
	}
	v.Guide = c.cfg.Guide
	if from := r.Header.Get("Sec-Fetch-Site"); from == "" || from == "same-origin" { // a link elsewhere could lie
		v.Notice = cmp.Or(v.Notice, notices[r.URL.Query().Get("done")])
	}
	var page bytes.Buffer
	if err := c.pages[name].ExecuteTemplate(&page, "layout", v); err != nil {
		return fmt.Errorf("console: %w", err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = page.WriteTo(w) // fails if the client has disconnected
	return nil
}

// renderFragment renders a template that is not a whole page.
func (c *Console) renderFragment(name string, data any) ([]byte, error) {
	var fragment bytes.Buffer
	if err := c.pages[""].ExecuteTemplate(&fragment, name, data); err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	return fragment.Bytes(), nil
}
