package validate

import (
	"mime"
	"net/http"
	"strings"
)

// The media types that can be checked.
const (
	mediaJSON    = "application/json"
	mediaProblem = "application/problem+json"
)

// mediaTypeOf returns the media type of a body, or "" when it is missing, ambiguous, or has a
// charset other than UTF-8.
func mediaTypeOf(header http.Header) string {
	values := header["Content-Type"]
	if len(values) != 1 {
		return ""
	}
	if values[0] == mediaJSON {
		return mediaJSON
	}
	media, params, err := mime.ParseMediaType(values[0])
	if charset, ok := params["charset"]; err != nil || ok && !strings.EqualFold(charset, "utf-8") {
		return ""
	}
	return media
}

// isEncoded reports whether a body is compressed or otherwise encoded.
func isEncoded(header http.Header) bool {
	for _, value := range header["Content-Encoding"] {
		if !strings.EqualFold(value, "identity") {
			return true
		}
	}
	return false
}
