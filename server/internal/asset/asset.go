// Package asset serves the files that a program carries, compressed to who accepts that.
package asset

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Asset is a file that is served compressed to who accepts that. A browser revalidates its copy
// each time, by ETag, because an upgrade of the binary may change any of them.
type Asset struct {
	contentType string
	compressed  []byte
	etag        string // of the content, without quotes
}

// New makes an Asset of a content.
func New(contentType string, content []byte) *Asset {
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	_, _ = w.Write(content) // a bytes.Buffer takes everything
	_ = w.Close()
	return NewCompressed(contentType, compressed.Bytes())
}

// NewCompressed makes an Asset of a content that gzip has compressed.
func NewCompressed(contentType string, compressed []byte) *Asset {
	return &Asset{contentType: contentType, compressed: compressed, etag: fmt.Sprintf("%x", sha256.Sum256(compressed))[:32]}
}

// ServeHTTP answers GET and HEAD.
func (a *Asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", a.contentType)
	header.Set("Cache-Control", "no-cache")
	header.Set("Vary", "Accept-Encoding")
	content := a.compressed
	if acceptsGzip(r.Header.Values("Accept-Encoding")) {
		header.Set("Content-Encoding", "gzip")
		header.Set("ETag", `"`+a.etag+`-gzip"`)
	} else {
		header.Set("ETag", `"`+a.etag+`"`)
		var err error
		if content, err = decompress(a.compressed); err != nil {
			http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
			return
		}
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

func decompress(compressed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// acceptsGzip reads Accept-Encoding as RFC 9110, section 12.5.3 says, and takes no header for no.
func acceptsGzip(values []string) bool {
	accepted := false
	for coding := range strings.SplitSeq(strings.Join(values, ","), ",") {
		name, parameter, _ := strings.Cut(coding, ";")
		name = strings.ToLower(strings.TrimSpace(name))
		if name != "gzip" && name != "x-gzip" && name != "*" {
			continue
		}
		weight, found := strings.CutPrefix(strings.ToLower(strings.TrimSpace(parameter)), "q=")
		q, err := strconv.ParseFloat(weight, 64)
		accepted = !found || err == nil && q > 0
		if name != "*" {
			return accepted
		}
	}
	return accepted
}
