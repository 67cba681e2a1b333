// Package asset serves the static files that are embedded in a program. It compresses them with gzip for
// clients that accept it.
package asset

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Asset is an [http.Handler] that serves one static file, compressed for clients that accept gzip. Browsers
// revalidate their copy by ETag on each use, because an upgrade of the program may change the file.
type Asset struct {
	contentType string
	compressed  []byte
	content     func() []byte
	etag        string // hash of the content, without quotes
}

// New returns an Asset with the given content.
func New(contentType string, content []byte) *Asset {
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	_, _ = w.Write(content) // writing to a bytes.Buffer does not fail
	_ = w.Close()
	a := NewCompressed(contentType, compressed.Bytes())
	a.content = func() []byte { return content }
	return a
}

// NewCompressed is like [New], for content that gzip has already compressed. The first response to a client that
// does not accept gzip decompresses it, and all others share the result.
func NewCompressed(contentType string, compressed []byte) *Asset {
	return &Asset{
		contentType: contentType, compressed: compressed, etag: fmt.Sprintf("%x", sha256.Sum256(compressed))[:32],
		content: sync.OnceValue(func() []byte { return decompress(compressed) }),
	}
}

// ServeHTTP serves the file as [http.ServeContent] does. The caller must restrict methods to GET and HEAD.
func (a *Asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", a.contentType)
	header.Set("Cache-Control", "no-cache")
	header.Set("Vary", "Accept-Encoding")
	var content []byte
	if gzipAccepted.MatchString(strings.Join(r.Header.Values("Accept-Encoding"), ",")) {
		header.Set("Content-Encoding", "gzip")
		header.Set("ETag", `"`+a.etag+`-gzip"`)
		content = a.compressed
	} else {
		header.Set("ETag", `"`+a.etag+`"`)
		content = a.content()
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// decompress returns the content of a file that the program contains.
func decompress(compressed []byte) (content []byte) {
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err == nil {
		content, err = io.ReadAll(r)
	}
	if err != nil {
		panic(err)
	}
	return content
}

// gzipAccepted matches an Accept-Encoding that names gzip, and not with the weight 0 (RFC 9110, section 12.5.3).
var gzipAccepted = regexp.MustCompile(`(?i)(?:^|[\s,])gzip\s*(?:$|,|;\s*q=(?:1|0\.\d*[1-9]))`)

// Protect adds headers to the responses of next which isolate its pages from other origins, with policy as their
// Content-Security-Policy.
func Protect(policy string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Referrer-Policy", "no-referrer") // a path may be a secret
		header.Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}
