package console

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// view is what a page shows.
type view struct {
	Title   string
	Section string // the path of the link in the navigation
	Notice  string // what has just been done
	Data    any

	User     studio.User // zero when nobody is signed in
	Sections []section
}

// section is a link in the navigation.
type section struct{ Title, Path string }

func sections(user studio.User) []section {
	all := []section{{"Projects", projectsPath}}
	for _, kind := range kinds() {
		all = append(all, section{kind.Title, kind.Path})
	}
	all = append(all, section{"Webhooks", webhooksPath}, section{"Events", eventsPath})
	if user.Role == studio.Operator {
		all = append(all, section{"Users", usersPath}, section{"Service", servicePath})
	}
	return all
}

// notices are what pages say after something has been done, by the query that leads there.
//
//nolint:gochecknoglobals // a table
var notices = map[string]string{
	"rotated":         "There is a new secret. The one before it signs for a day more.",
	"enabled":         "Notifications go there again. Replay what it has missed.",
	"replayed":        "They are being sent again.",
	"created":         "It has been created.",
	"deleted":         "It has been deleted.",
	"consent-given":   "Consent is given.",
	"consent-refused": "Consent is refused.",
}

type sessionKey struct{}

func withSession(r *http.Request, s session) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), sessionKey{}, s))
}

// parsePages parses each page with the layout around it.
func parsePages() (map[string]*template.Template, error) {
	shared, err := template.New("").Funcs(functions()).ParseFS(files, "pages/layout.html", "pages/parts.html")
	if err != nil {
		return nil, err
	}
	entries, err := files.ReadDir("pages")
	if err != nil {
		return nil, err
	}
	pages := map[string]*template.Template{"": shared}
	for _, entry := range entries {
		page, err := shared.Clone()
		if err == nil {
			page, err = page.ParseFS(files, "pages/"+entry.Name())
		}
		if err != nil {
			return nil, err
		}
		pages[strings.TrimSuffix(entry.Name(), path.Ext(entry.Name()))] = page
	}
	return pages, nil
}

func functions() template.FuncMap {
	return template.FuncMap{
		"iso":          func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"moment":       func(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04:05 UTC") },
		"day":          func(t time.Time) string { return t.UTC().Format("2 Jan 2006") },
		"milliseconds": func(d time.Duration) int64 { return d.Milliseconds() },
		"age":          func(d time.Duration) string { return d.Round(time.Second).String() },
		"count":        count,
		"state":        func(s studio.Status) string { return strings.ReplaceAll(string(s), "_", " ") },
	}
}

// count writes a number that was counted up to most.
func count(n, most int) string {
	if n >= most {
		return fmt.Sprint(most, " or more")
	}
	return fmt.Sprint(n)
}

// render answers with a page.
func (c *Console) render(w http.ResponseWriter, r *http.Request, status int, name string, v view) {
	if s, ok := r.Context().Value(sessionKey{}).(session); ok && s.token != "" {
		v.User, v.Sections = s.User, sections(s.User)
	}
	if v.Notice == "" {
		v.Notice = notices[r.URL.Query().Get("done")]
	}
	var page bytes.Buffer
	if err := c.pages[name].ExecuteTemplate(&page, "layout", v); err != nil {
		c.cfg.Logger.ErrorContext(r.Context(), "page not rendered", "page", name, "err", err)
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = page.WriteTo(w) // fails when the reader has gone
}

// part renders a part of a page.
func (c *Console) part(name string, data any) ([]byte, error) {
	var part bytes.Buffer
	if err := c.pages[""].ExecuteTemplate(&part, name, data); err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	return part.Bytes(), nil
}
