package validate

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
	"github.com/avatarstudio/avatarstudio/server/validate/internal/schema"
)

const (
	mediaJSON      = "application/json"
	mediaText      = "text/plain"
	mediaForm      = "application/x-www-form-urlencoded"
	mediaMultipart = "multipart/form-data"
)

// content is one media type of a body, with its compiled schema. At most one of json, text, form,
// multipart and format is set. If none is set, the content of the body is not checked.
type content struct {
	media     string            // or a range such as video/* or */*
	params    map[string]string // that the media type of a body must have, without the charset
	json      bool
	node      *schema.Node  // schema of JSON, text, a form, the parts of a multipart body together, or each item of a stream
	text      *schema.Shape // set for text
	form      *form         // set for application/x-www-form-urlencoded
	multipart *multiparts   // set for multipart
	format    stream.Format // set for a stream, of which node is the schema of each item
	size      *schema.Size  // of a body whose content is not checked
	inJSON    *content      // set for a range of media types whose schema applies to JSON only
}

// streamed reports whether a body is passed on without being buffered.
func (c *content) streamed() bool {
	return !c.json && c.text == nil && c.form == nil
}

// contents lists the media types of a body, the more specific ones first.
type contents []*content

// find returns the content for a media type with its parameters, or nil.
func (c contents) find(media string, params map[string]string) *content {
	for _, content := range c {
		switch {
		case !inRange(media, content.media) || !content.hasParams(params):
		case content.inJSON != nil && schema.IsJSONMedia(media):
			return content.inJSON
		default:
			return content
		}
	}
	return nil
}

// hasParams reports whether all parameters that the document declares are among params.
func (c *content) hasParams(params map[string]string) bool {
	for name, value := range c.params {
		if params[name] != value {
			return false
		}
	}
	return true
}

// String lists the media types for error messages.
func (c contents) String() string {
	names := make([]string, len(c))
	for i, content := range c {
		names[i] = mime.FormatMediaType(content.media, content.params)
	}
	return document.OneOf(names)
}

// inRange reports whether media equals pattern or is in its range.
func inRange(media, pattern string) bool {
	if kind, ok := strings.CutSuffix(pattern, "*"); ok {
		return media != "" && (pattern == "*/*" || strings.HasPrefix(media, kind))
	}
	return media == pattern
}

// mediaTypeOf returns the media type of a body and its parameters. The media type is "" if it is missing,
// repeated, malformed, or has text in a charset other than UTF-8.
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

// isText reports whether a body of this media type is decoded as text, so that its charset matters.
func isText(media string) bool {
	return schema.IsJSONMedia(media) || media == mediaText || media == mediaForm
}

// isEncoded reports whether a body has a content coding. The coding identity has no effect (RFC 9110, section
// 8.4.1), although senders should not use it.
func isEncoded(header http.Header) bool {
	return slices.ContainsFunc(header["Content-Encoding"], func(coding string) bool { return !strings.EqualFold(coding, "identity") })
}
