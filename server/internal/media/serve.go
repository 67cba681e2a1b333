package media

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Path is the prefix of the path of all URLs that the service serves itself.
const Path = "/media/"

// retryAfter is the Retry-After of a file that cannot be read for now.
const retryAfter = 5 * time.Second

// minSpeed is the minimum speed at which a client must read, in bytes per second.
const minSpeed = 32 << 10

// sign returns the signature of a key and the time at which its URL expires.
func (s *Store) sign(key, expires string) string {
	mac := hmac.New(sha256.New, s.cfg.Key)
	_, _ = io.WriteString(mac, key+"\n"+expires) // does not fail
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// verify reports whether a URL was returned by URL and has not expired. The signature is compared in
// constant time.
func (s *Store) verify(key string, query url.Values) bool {
	expires := query.Get("expires")
	at, err := strconv.ParseInt(expires, 10, 64)
	return hmac.Equal([]byte(query.Get("signature")), []byte(s.sign(key, expires))) &&
		err == nil && s.cfg.Now().Before(time.Unix(at, 0))
}

// Key returns the key in a URL, or "" if the URL does not name a file of the service. It reads only the path, so
// that it finds the key in the URLs of object stores, too; any host may be in the URL. signed reports whether
// the URL was signed by this service and has not expired. It is always false for object stores. If signed is
// false, the URL may be forged: check the owner of the file, as [studio.Service.OwnsMedia] does.
func (s *Store) Key(address string) (key string, signed bool) {
	u, err := url.Parse(address)
	if err != nil {
		return "", false
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	for i := range parts {
		if parts[i] == studio.ResultFolder || parts[i] == studio.UploadFolder {
			key = strings.Join(parts[i:], "/")
			return key, s.dir != "" && u.Path == Path+key && s.verify(key, u.Query())
		}
	}
	return "", false
}

// ServeHTTP serves the URLs that URL returned. It responds with 403 if the signature is wrong or has
// expired.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := strings.TrimPrefix(r.URL.Path, Path)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		server.WriteProblem(w, r, &server.Error{Status: http.StatusMethodNotAllowed, Detail: "Files are only read."})
		return
	}
	if !s.verify(key, r.URL.Query()) {
		server.WriteProblem(w, r, &server.Error{
			Status: http.StatusForbidden, Detail: "This URL is invalid or has expired. Read the record again for a new URL.",
		})
		return
	}
	s.ServeFile(w, r, key)
}

// ServeFile serves a file as [http.ServeContent] does. It checks no signature, so the caller must have
// authorized the request. A browser may use the file again for an hour.
func (s *Store) ServeFile(w http.ResponseWriter, r *http.Request, key string) {
	s.serveFile(w, r, key, "private, max-age=3600")
}

// ServeRevocable is like ServeFile for a file that the caller may refuse to serve at any time. A browser asks again
// before each use.
func (s *Store) ServeRevocable(w http.ResponseWriter, r *http.Request, key string) {
	s.serveFile(w, r, key, "private, no-cache")
}

func (s *Store) serveFile(w http.ResponseWriter, r *http.Request, key, cacheControl string) {
	file, err := s.open(r.Context(), key)
	if errors.Is(err, studio.ErrNotFound) {
		server.WriteProblem(w, r, &server.Error{Status: http.StatusNotFound, Detail: "There is no such file."})
		return
	}
	if err != nil {
		server.WriteProblem(w, r, server.Busy(retryAfter, err))
		return
	}
	defer func() { _ = file.Close() }()
	// Large files take longer than the write timeout of other responses.
	deadline := time.Now().Add(time.Minute + time.Duration(file.Size/minSpeed)*time.Second)
	_ = http.NewResponseController(w).SetWriteDeadline(deadline) // not every connection supports deadlines
	header := w.Header()
	header.Set("Content-Type", contentType(key))
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", contentSecurityPolicy)
	header.Set("Cache-Control", cacheControl)
	header.Set("ETag", `"`+strconv.FormatInt(file.Modified.UnixNano(), 16)+"-"+strconv.FormatInt(file.Size, 16)+`"`)
	if contentType(key) == unknownType {
		header.Set("Content-Disposition", "attachment")
	}
	http.ServeContent(&problemWriter{ResponseWriter: w, request: r}, r, "", file.Modified, file.ReadSeekCloser)
}

// contentSecurityPolicy allows what the page needs in which a browser shows a file. A file cannot run scripts or load
// anything else. Without allow-same-origin, Chromium does not play a video.
const contentSecurityPolicy = "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; sandbox allow-same-origin"

// problemWriter writes the errors of [http.ServeContent] as problem documents.
type problemWriter struct {
	http.ResponseWriter
	request *http.Request
	failed  bool
}

func (w *problemWriter) WriteHeader(status int) {
	if w.failed = status >= http.StatusBadRequest; !w.failed {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.Header().Del("Cache-Control")
	detail := "The file has changed."
	if status == http.StatusRequestedRangeNotSatisfiable {
		detail = "The file does not have this range."
	}
	server.WriteProblem(w.ResponseWriter, w.request, &server.Error{Status: status, Detail: detail})
}

// Write drops the text of an error.
func (w *problemWriter) Write(p []byte) (int, error) {
	if w.failed {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// ReadFrom lets the server send a file without buffering the response.
func (w *problemWriter) ReadFrom(from io.Reader) (int64, error) {
	return io.Copy(w.ResponseWriter, from)
}

const unknownType = "application/octet-stream"

// types maps file extensions to the media types that a browser may display.
//
//nolint:gochecknoglobals // a table
var types = map[string]string{
	".mp4": "video/mp4", ".webm": "video/webm", ".mov": "video/quicktime", ".mkv": "video/x-matroska",
	".jpg": "image/jpeg", ".png": "image/png", ".webp": "image/webp", ".gif": "image/gif",
	".wav": "audio/wav", ".mp3": "audio/mpeg", ".m4a": "audio/mp4", ".ogg": "audio/ogg", ".flac": "audio/flac", ".aac": "audio/aac",
	".srt": "application/x-subrip", ".vtt": "text/vtt",
}

func contentType(key string) string {
	if known, ok := types[path.Ext(key)]; ok {
		return known
	}
	return unknownType
}

// Extension implements [studio.Media].
func (s *Store) Extension(mediaType string) string {
	for extension, known := range types {
		if known == mediaType {
			return extension
		}
	}
	return ""
}
