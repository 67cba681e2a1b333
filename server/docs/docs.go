// Package docs serves an HTML reference of an OpenAPI document.
//
// The page is Swagger UI, which is embedded in the binary. It loads nothing from other origins. Its
// Content-Security-Policy enforces that, and forbids inline scripts and styles. The errors of an operation are folded,
// and an operation with the member "x-interface: extension" has a badge.
package docs

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/oasdiff/yaml"

	"github.com/avatarstudio/avatarstudio/server/internal/web/asset"
)

// The folder swagger-ui is written by "make swagger-ui".
//
//go:embed swagger-ui page.html docs.css docs.js examples.js operations.js samples.js
var files embed.FS

const pageName = "page.html" // which is a template

// policy allows only the embedded files. Requests that a reader sends from the page go to the origin of the
// page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Config configures the handler that [New] returns. The zero value is valid.
type Config struct {
	// BasePath is a prefix for all paths of the document in requests that a reader sends from the page, such
	// as "/studio". The requests go to the origin of the page and not to the servers of the document. Empty
	// by default.
	BasePath string

	// Samples has programs that call the operations. The file name, in any directory, is the operationId, escaped
	// as in a query, with an extension for the language: login.sh for curl, login.go for Go, login.ts for
	// TypeScript, or login.py for Python. The page shows them with the operation, and
	// /openapi.json contains them as x-codeSamples. Other files are ignored.
	// If an operation of the document has its own x-codeSamples, the page shows those. If nil, there are no
	// samples.
	Samples fs.FS

	// Guide is the URL of a guide, to which the page links. If empty, there is no link.
	Guide string
}

// New returns a handler for GET and HEAD requests. Other methods get 405, and other paths 404. It serves the
// page at /docs, the files of the page below /docs/, and the document at /openapi.yaml and /openapi.json. Use
// [http.StripPrefix] to serve them below a prefix. The document may be JSON or YAML. The page and
// /openapi.yaml keep the order of its members, and /openapi.json sorts them, and rounds numbers of YAML that are no
// int64 to a float64. New returns an error if the document cannot be read or has no version, or if Samples has a file
// for an operation that is not in its paths. Otherwise it does not check the document.
func New(document []byte, cfg Config) (http.Handler, error) {
	root, err := decode(document)
	if err != nil {
		return nil, fmt.Errorf("docs: %w", err)
	}
	if version, _ := root["openapi"].(string); version == "" {
		return nil, errors.New("docs: the document has no version, as a string in the member openapi")
	}
	samples, err := readSamples(cfg.Samples)
	if err != nil {
		return nil, fmt.Errorf("docs: Config.Samples: %w", err)
	}
	if err := addSamples(root, samples); err != nil {
		return nil, fmt.Errorf("docs: Config.Samples: %w", err)
	}
	asJSON, _ := json.Marshal(root) // was JSON before
	samplesJSON, _ := json.Marshal(samples)
	info, _ := root["info"].(map[string]any)
	title, _ := info["title"].(string)
	var page bytes.Buffer
	err = template.Must(template.ParseFS(files, pageName)).Execute(&page, map[string]string{"Title": title, "BasePath": cfg.BasePath, "Guide": cfg.Guide})
	if err != nil {
		return nil, fmt.Errorf("docs: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /docs", asset.New("text/html; charset=utf-8", page.Bytes()))
	mux.HandleFunc("GET /docs/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "../docs") // http.Redirect would lose the prefix that http.StripPrefix removed
		w.WriteHeader(http.StatusPermanentRedirect)
	})
	mux.Handle("GET /openapi.yaml", asset.New("application/yaml", document))
	mux.Handle("GET /openapi.json", asset.New("application/json", asJSON))
	mux.Handle("GET /docs/samples.json", asset.New("application/json", samplesJSON))
	types := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
	err = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || name == pageName {
			return err
		}
		content, err := files.ReadFile(name)
		served, compressed := strings.CutSuffix(path.Base(name), ".gz")
		contentType := cmp.Or(types[path.Ext(served)], "text/plain; charset=utf-8")
		if compressed {
			mux.Handle("GET /docs/"+served, asset.NewCompressed(contentType, content))
		} else {
			mux.Handle("GET /docs/"+served, asset.New(contentType, content))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("docs: %w", err)
	}
	return asset.Protect(policy, mux), nil
}

// decode decodes a document.
func decode(document []byte) (root map[string]any, err error) {
	exact := func(d *json.Decoder) *json.Decoder { d.UseNumber(); return d }
	if document = bytes.TrimPrefix(document, []byte("\ufeff")); json.Valid(document) { // YAML lacks escapes of JSON
		err = exact(json.NewDecoder(bytes.NewReader(document))).Decode(&root)
	} else {
		_, err = yaml.Unmarshal(document, &root, yaml.DecodeOpts{DisableTimestamps: true}, exact)
	}
	return root, err
}
