package media

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Path is what the path of every address that the service serves begins with.
const Path = "/media/"

// slowest is how many bytes a second a reader must take at least.
const slowest = 32 << 10

// sign authenticates a key and the time at which its address expires.
func (s *Store) sign(key, expires string) string {
	mac := hmac.New(sha256.New, s.cfg.Key)
	_, _ = mac.Write([]byte(key + "\n" + expires)) // does not fail
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// verify reports whether an address is one that URL has returned and that works still.
func (s *Store) verify(key string, query url.Values) bool {
	expires := query.Get("expires")
	at, err := strconv.ParseInt(expires, 10, 64)
	return hmac.Equal([]byte(query.Get("signature")), []byte(s.sign(key, expires))) &&
		err == nil && s.cfg.Now().Before(time.Unix(at, 0))
}

// Key returns the key in an address. signed tells whether the address is one of the service that
// works still; any other may have been made up.
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

// ServeHTTP serves the addresses that URL returns.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := strings.TrimPrefix(r.URL.Path, Path)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		server.WriteProblem(w, r, &server.Error{Status: http.StatusMethodNotAllowed, Detail: "Files are only read."})
		return
	}
	if !s.verify(key, r.URL.Query()) {
		server.WriteProblem(w, r, &server.Error{
			Status: http.StatusForbidden, Detail: "This address is wrong or has expired. The details of the record have a new one.",
		})
		return
	}
	s.ServeFile(w, r, key)
}

// ServeFile serves the file of a key, as [http.ServeContent] does, to a caller who may read it.
func (s *Store) ServeFile(w http.ResponseWriter, r *http.Request, key string) {
	file, err := s.open(r.Context(), key)
	if errors.Is(err, studio.ErrNotFound) {
		server.WriteProblem(w, r, &server.Error{Status: http.StatusNotFound, Detail: "There is no such file."})
		return
	}
	if err != nil {
		server.WriteProblem(w, r, &server.Error{Status: http.StatusInternalServerError, Err: err})
		return
	}
	defer func() { _ = file.content.Close() }()
	// A large file takes longer than the timeout of other answers.
	deadline := time.Now().Add(time.Minute + time.Duration(file.size/slowest)*time.Second)
	_ = http.NewResponseController(w).SetWriteDeadline(deadline) // as far as the connection can
	header := w.Header()
	header.Set("Content-Type", contentType(key))
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "private, max-age=3600")
	header.Set("ETag", fmt.Sprintf(`"%x-%x"`, file.modified.UnixNano(), file.size))
	if contentType(key) == unknownType {
		header.Set("Content-Disposition", "attachment")
	}
	http.ServeContent(w, r, "", file.modified, file.content)
}

const unknownType = "application/octet-stream"

// types are the media types that a browser may show, by the extension that their files get.
//
//nolint:gochecknoglobals // a table
var types = map[string]string{
	".mp4": "video/mp4", ".webm": "video/webm", ".mov": "video/quicktime", ".mkv": "video/x-matroska",
	".jpg": "image/jpeg", ".png": "image/png", ".webp": "image/webp", ".gif": "image/gif",
	".wav": "audio/wav", ".mp3": "audio/mpeg", ".m4a": "audio/mp4", ".ogg": "audio/ogg", ".flac": "audio/flac", ".aac": "audio/aac",
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
