// Package docs serves the reference of an OpenAPI document to browsers.
//
// The page is Swagger UI, which the binary carries. It fetches nothing from another origin, and
// its Content-Security-Policy forbids that too, as well as inline scripts and styles.
package docs

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"strings"

	"github.com/oasdiff/yaml"

	"github.com/avatarstudio/avatarstudio/server/internal/asset"
)

// "make swagger-ui" writes the folder swagger-ui.
//
//go:embed swagger-ui page.html docs.css docs.js
var files embed.FS

// policy allows what the page carries. Requests that a reader tries go to the page's own origin.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Config says how a document is served. Its zero value works.
type Config struct {
	// BasePath comes before every path of the document in requests that a reader of the page
	// tries, such as "/studio". They go to the origin of the page, not to the servers
	// of the document. Default: none.
	BasePath string
}

// New returns a handler of GET and HEAD for the page at /docs, the files that it needs below /docs/,
// and the document at /openapi.yaml and /openapi.json. [http.StripPrefix] may put all of them elsewhere.
// The document is JSON or YAML; the page and /openapi.yaml keep its order, and /openapi.json sorts its members.
func New(document []byte, cfg Config) (http.Handler, error) {
	asJSON, err := yaml.YAMLToJSON(document)
	if err != nil {
		return nil, fmt.Errorf("docs: %w", err)
	}
	page, err := renderPage(document, cfg)
	if err != nil {
		return nil, fmt.Errorf("docs: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /docs", asset.New("text/html; charset=utf-8", page))
	mux.HandleFunc("GET /docs/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "../docs") // http.Redirect would drop what http.StripPrefix took
		w.WriteHeader(http.StatusPermanentRedirect)
	})
	mux.Handle("GET /openapi.yaml", asset.New("application/yaml", document))
	mux.Handle("GET /openapi.json", asset.New("application/json", asJSON))
	for name, contentType := range map[string]string{
		"docs.css":                                    "text/css; charset=utf-8",
		"docs.js":                                     "text/javascript; charset=utf-8",
		"swagger-ui/LICENSE":                          "text/plain; charset=utf-8",
		"swagger-ui/NOTICE":                           "text/plain; charset=utf-8",
		"swagger-ui/swagger-ui.css.gz":                "text/css; charset=utf-8",
		"swagger-ui/swagger-ui-bundle.js.gz":          "text/javascript; charset=utf-8",
		"swagger-ui/swagger-ui-bundle.js.LICENSE.txt": "text/plain; charset=utf-8",
	} {
		content, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("docs: %w", err)
		}
		if name, compressed := strings.CutSuffix(path.Base(name), ".gz"); compressed {
			mux.Handle("GET /docs/"+name, asset.NewCompressed(contentType, content))
		} else {
			mux.Handle("GET /docs/"+name, asset.New(contentType, content))
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("X-Content-Type-Options", "nosniff")
		mux.ServeHTTP(w, r)
	}), nil
}

func renderPage(document []byte, cfg Config) ([]byte, error) {
	var described struct {
		OpenAPI string `json:"openapi"`
		Info    struct {
			Title string `json:"title"`
		} `json:"info"`
	}
	if _, err := yaml.Unmarshal(document, &described, yaml.DecodeOpts{}); err != nil {
		return nil, err
	}
	if described.OpenAPI == "" {
		return nil, errors.New("the document has no member openapi")
	}
	page, err := template.ParseFS(files, "page.html")
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = page.Execute(&text, map[string]string{"Title": described.Info.Title, "BasePath": cfg.BasePath})
	return text.Bytes(), err
}
