// Package stream writes and reads bodies that are sequences of items.
package stream

import (
	"mime"
	"strings"
	"time"
)

// Format is how the items of a body are separated.
type Format int

// The formats of OpenAPI 3.2.
const (
	Events   Format = iota + 1 // server-sent events: text/event-stream
	Lines                      // JSON lines: application/jsonl and application/x-ndjson
	Sequence                   // JSON text sequences of RFC 7464: application/json-seq
	Mixed                      // parts with JSON: multipart/mixed
)

// FormatOf returns the format of a media type, which may have parameters.
func FormatOf(contentType string) (Format, bool) {
	media, _, _ := mime.ParseMediaType(contentType)
	if strings.HasSuffix(media, "+json-seq") { // RFC 8091
		return Sequence, true
	}
	f, ok := map[string]Format{
		"text/event-stream":    Events,
		"application/jsonl":    Lines,
		"application/x-ndjson": Lines,
		"application/json-seq": Sequence,
		"multipart/mixed":      Mixed,
	}[media]
	return f, ok
}

// Event is a server-sent event. See section 9.2 of the HTML Living Standard.
type Event[T any] struct {
	ID    string        // empty if the event has none
	Event string        // the type; if it is empty, clients take it for "message"
	Retry time.Duration // how long clients wait before they reconnect, in whole milliseconds; 0 changes nothing
	Data  T
}
