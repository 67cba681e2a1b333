package validate

import (
	"cmp"
	"mime"
	"net/http"
	"slices"
	"strings"
)

const (
	mediaJSON      = "application/json"
	mediaText      = "text/plain"
	mediaForm      = "application/x-www-form-urlencoded"
	mediaMultipart = "multipart/form-data"
)

// content is one media type of a body and what its schema says. Only one of the rules is set;
// without any the body is not looked into.
type content struct {
	media     string // or a range: video/*, */*
	json      bool
	node      *node       // of JSON, text, a form, or the fields of a multipart body
	text      *shape      // of text
	form      *form       // of application/x-www-form-urlencoded
	multipart *multiparts // of multipart/form-data
	size      [2]limit    // least and most bytes of a body that is not looked into
}

// streamed reports whether a body passes without being held in memory as a whole.
func (c *content) streamed() bool { return !c.json && c.text == nil && c.form == nil }

// contents are the media types of a body, the more specific ones first.
type contents []*content

func (cs contents) sort() {
	slices.SortFunc(cs, func(a, b *content) int {
		return cmp.Or(cmp.Compare(generality(a.media), generality(b.media)), cmp.Compare(a.media, b.media))
	})
}

func generality(media string) int { return strings.Count(media, "*") }

// find returns the content of a media type, or nil.
func (cs contents) find(media string) *content {
	for _, c := range cs {
		if inRange(media, c.media) {
			return c
		}
	}
	return nil
}

// String lists the media types, for people.
func (cs contents) String() string {
	names := make([]string, len(cs))
	for i, c := range cs {
		names[i] = c.media
	}
	return oneOf(names)
}

func oneOf(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// inRange reports whether a media type is the one that the document names, or in its range.
func inRange(media, pattern string) bool {
	if kind, ok := strings.CutSuffix(pattern, "*"); ok {
		return media != "" && (pattern == "*/*" || strings.HasPrefix(media, kind))
	}
	return media == pattern
}

func isJSON(media string) bool {
	return media == mediaJSON || strings.HasSuffix(media, "+json")
}

// mediaTypeOf returns the media type of a body and its parameters. The type is "" when it is
// missing, ambiguous, or text in a charset other than UTF-8.
func mediaTypeOf(header http.Header) (media string, params map[string]string) {
	values := header["Content-Type"]
	if len(values) != 1 {
		return "", nil
	}
	if values[0] == mediaJSON {
		return mediaJSON, nil
	}
	media, params, err := mime.ParseMediaType(values[0])
	if err != nil {
		return "", nil
	}
	if charset, ok := params["charset"]; ok && isText(media) && !strings.EqualFold(charset, "utf-8") {
		return "", nil
	}
	return media, params
}

// isText reports whether a body is read as text, so that its charset matters.
func isText(media string) bool {
	return isJSON(media) || media == mediaText || media == mediaForm
}

// isEncoded reports whether a body is compressed or otherwise encoded. The coding identity is none
// (RFC 9110, 8.4.1), though a sender should not name it.
func isEncoded(header http.Header) bool {
	for _, value := range header["Content-Encoding"] {
		if !strings.EqualFold(value, "identity") {
			return true
		}
	}
	return false
}
