// Package share serves the public page of a shared project, and the files that it shows. Whoever has the link can watch
// the video. The page has the title and nothing else of the project.
//
// Each request checks the link, and no response may be reused without such a check. So the page and its files are 404
// at once when the owner stops sharing or deletes the record.
package share

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"html/template"
	"net/http"
	"path"
	"strings"

	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/web/asset"
)

// maxTitle is the maximum length of a title on the page and in previews, in characters. The API allows longer ones.
const maxTitle = 200

//go:embed page.html
var pageText string

//go:embed page.css
var style template.CSS

// handler serves the pages.
type handler struct {
	studio    *studio.Service
	serveFile func(w http.ResponseWriter, r *http.Request, key string)
	mapError  func(ctx context.Context, err error) *server.Error
	page      *template.Template
}

// New returns a handler for [studio.SharePath]. serveFile serves the media file with the given key, and forbids reuse
// without revalidation. mapError converts an error of the service to a response, as in [server.Config].
func New(
	service *studio.Service, serveFile func(w http.ResponseWriter, r *http.Request, key string), mapError func(ctx context.Context, err error) *server.Error,
) http.Handler {
	h := &handler{studio: service, serveFile: serveFile, mapError: mapError, page: template.Must(template.New("").Parse(pageText))}
	hash := sha256.Sum256([]byte(style))
	policy := "default-src 'none'; img-src 'self' data:; media-src 'self'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+studio.SharePath+"{link}", h.found(h.showPage))
	mux.HandleFunc("GET "+studio.SharePath+"{link}/{file}", h.found(h.showFile))
	mux.HandleFunc(studio.SharePath, h.notFound)
	return asset.Protect(policy, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Robots-Tag", "noindex")
		mux.ServeHTTP(w, r)
	}))
}

// found calls show with the project of the link. show reports whether the project has what was requested.
func (h *handler) found(show func(w http.ResponseWriter, r *http.Request, project studio.Subject) bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		project, err := h.studio.SharedProject(r.Context(), r.PathValue("link"))
		if err != nil && !errors.Is(err, studio.ErrNotFound) {
			problem := cmp.Or(h.mapError(r.Context(), err), &server.Error{Status: http.StatusInternalServerError})
			problem.Err = err
			server.WriteProblem(w, r, problem)
			return
		}
		if err != nil || project.Rendering.Video == "" || !show(w, r, project) {
			h.notFound(w, r)
		}
	}
}

// files returns the names of the files of a project that are served, by their names on the page without an extension.
func files(project studio.Subject) map[string]string {
	made := project.Rendering
	return map[string]string{
		"video":    made.Video,
		"poster":   cmp.Or(project.Project.CustomThumbnail, made.Previews.Still, made.Thumbnail),
		"preview":  cmp.Or(project.Project.CustomThumbnail, made.Previews.StillPlay, made.Thumbnail),
		"captions": made.Captions,
	}
}

func (h *handler) showFile(w http.ResponseWriter, r *http.Request, project studio.Subject) bool {
	name, extension := r.PathValue("file"), path.Ext(r.PathValue("file"))
	file := files(project)[strings.TrimSuffix(name, extension)]
	if file == "" || path.Ext(file) != extension {
		return false
	}
	h.serveFile(w, r, studio.ResultKey(project.ID, file))
	return true
}

// page is the data of the template. Without a Title, there is no such video.
type page struct {
	Style    template.CSS
	Title    string
	URL      string            // of the page
	Link     string            // the last element of URL, which the paths of files begin with
	Files    map[string]string // the names of files on the page, without those that do not exist
	Language string            // of the captions, "" if unknown
}

func (h *handler) showPage(w http.ResponseWriter, r *http.Request, project studio.Subject) bool {
	v := page{
		Title: plainTitle(project.Title), URL: h.studio.ShareURL(&project), Link: r.PathValue("link"),
		Files: files(project), Language: project.Rendering.Language,
	}
	for name, file := range v.Files {
		if file != "" {
			v.Files[name] = name + path.Ext(file)
		}
	}
	h.render(w, r, http.StatusOK, v)
	return true
}

func (h *handler) notFound(w http.ResponseWriter, r *http.Request) {
	h.render(w, r, http.StatusNotFound, page{})
}

func (h *handler) render(w http.ResponseWriter, r *http.Request, status int, v page) {
	v.Style = style
	var text bytes.Buffer
	if err := h.page.Execute(&text, v); err != nil {
		server.WriteProblem(w, r, &server.Error{Status: http.StatusInternalServerError, Err: err})
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = text.WriteTo(w) // fails if the client has disconnected
}

// plainTitle returns a title as one short line. Apps show it in previews beside their own text.
func plainTitle(title *string) string {
	if title == nil {
		return "Untitled video"
	}
	text := []rune(studio.Line(*title))
	if len(text) > maxTitle {
		text = append(text[:maxTitle-1], '…')
	}
	return cmp.Or(string(text), "Untitled video")
}
