package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/web/console"
	"github.com/avatarstudio/avatarstudio/server/internal/web/guide"
)

// facePath is the path of a picture that a demo lends to those who have none at hand.
const facePath = "/face.jpg"

// face is the presenter of package talkinghead.
//
//go:embed face.jpg
var face []byte

// withRoot responds to GET / with a redirect to the console for browsers, and with the paths of the service for
// other clients. In a demo, it also serves a picture of a face.
func (d *daemon) withRoot(next http.Handler) http.Handler {
	page := "/docs"
	paths := map[string]string{"documentation": page, "guide": guide.Path + "/", "openapi": "/openapi.json"}
	if d.cfg.Console {
		page = console.Path
		paths["console"] = page
	}
	list, _ := json.Marshal(paths) // cannot fail: they are strings
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isRead := r.Method == http.MethodGet || r.Method == http.MethodHead
		switch {
		case isRead && d.cfg.Demo && r.URL.Path == facePath:
			http.ServeContent(w, r, facePath, time.Time{}, bytes.NewReader(face))
		case !isRead || r.URL.Path != "/":
			next.ServeHTTP(w, r)
		case strings.Contains(r.Header.Get("Accept"), "text/html"):
			w.Header().Set("Vary", "Accept")
			http.Redirect(w, r, page, http.StatusFound)
		default:
			w.Header().Set("Vary", "Accept")
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(list) // fails if the client has disconnected
		}
	})
}
