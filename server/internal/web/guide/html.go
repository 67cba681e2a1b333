package guide

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"

	"github.com/avatarstudio/avatarstudio/server/internal/web/asset"
)

//go:embed page.html
var layoutText string

//go:embed guide.css
var style []byte

// Path is the path of the guide. The pages are below it.
const Path = "/docs/guide"

// policy allows only the style sheet.
const policy = "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// heading is a section of a page, to which the list of contents links.
type heading struct{ ID, Title string }

// view is what the template shows of a page.
type view struct {
	Page
	Sections []heading
	Body     template.HTML
	Pages    []Page
}

// New returns a handler for GET and HEAD requests of Path and the paths below it. Other methods get 405, and other
// paths 404.
func New() (http.Handler, error) {
	layout := template.Must(template.New("").Parse(layoutText))
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "guide/") // http.Redirect would lose a prefix that http.StripPrefix removed
		w.WriteHeader(http.StatusPermanentRedirect)
	})
	mux.Handle("GET "+Path+"/guide.css", asset.New("text/css; charset=utf-8", style))
	pages := Pages()
	for _, page := range append(pages, read(indexName)) {
		text, err := page.html(layout, pages)
		if err != nil {
			return nil, fmt.Errorf("guide: %s: %w", page.Name, err)
		}
		name := page.Name
		if name == indexName {
			name = "{$}"
		}
		mux.Handle("GET "+Path+"/"+name, asset.New("text/html; charset=utf-8", text))
	}
	return asset.Protect(policy, mux), nil
}

// html returns the page in its layout. Links to other pages lose the extension of the file.
func (p Page) html(layout *template.Template, pages []Page) ([]byte, error) {
	shown := view{Page: p, Pages: pages}
	_ = ast.Walk(p.root, func(node ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		switch node := node.(type) {
		case *ast.Heading:
			if id, _ := node.AttributeString("id"); entering && node.Level == 2 {
				shown.Sections = append(shown.Sections, heading{fmt.Sprintf("%s", id), p.inline(node)})
			}
		case *ast.Link:
			name, fragment, found := strings.Cut(string(node.Destination), extension)
			if entering && found && !strings.Contains(name, "/") {
				node.Destination = []byte(name + fragment)
			}
		}
		return ast.WalkContinue, nil
	})
	var body, text bytes.Buffer
	if err := goldmark.DefaultRenderer().Render(&body, p.source, p.root); err != nil {
		return nil, err
	}
	// A code block that scrolls can be scrolled with the keyboard.
	shown.Body = template.HTML(strings.ReplaceAll(body.String(), "<pre>", `<pre tabindex="0">`)) //nolint:gosec // the pages are part of the program
	err := layout.Execute(&text, shown)
	return text.Bytes(), err
}
