package main

import (
	"bytes"
	_ "embed"
	"net/http"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/web/console"
)

// facePath is the path of a picture that a demo lends to those who have none at hand.
const facePath = "/face.jpg"

// face is the presenter of package talkinghead.
//
//go:embed face.jpg
var face []byte

// withRoot redirects GET / to the console, or to the reference if there is none. In a demo, it also serves a picture of
// a face.
func (d *daemon) withRoot(next http.Handler) http.Handler {
	page := "/docs"
	if d.cfg.Console {
		page = console.Path
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isRead := r.Method == http.MethodGet || r.Method == http.MethodHead
		switch {
		case isRead && d.cfg.Demo && r.URL.Path == facePath:
			http.ServeContent(w, r, facePath, time.Time{}, bytes.NewReader(face))
		case isRead && r.URL.Path == "/":
			http.Redirect(w, r, page, http.StatusFound)
		default:
			next.ServeHTTP(w, r)
		}
	})
}
