// Package stream writes and reads bodies that are sequences of items: the media types of OpenAPI 3.2 that have an
// itemSchema. The generated server sends responses with [Send] and [SendEvents].
//
// # Responses
//
// The header of a response is sent at once, and each item when the iterator yields it. A proxy may close a connection
// that is silent, so after each [Heartbeat] without an item, the server sends what readers ignore: a comment in
// server-sent events, and an empty line in JSON lines.
//
// The context that the operation got ends when the client disconnects, when a write takes longer than
// [WriteTimeout], with [End], and when [http.Server.Shutdown] is called. The function yield then returns false. An
// iterator that waits must also wait for the end of the context. The WriteTimeout of the [http.Server] does not apply
// to a stream.
//
// An error of the iterator ends the response with a problem document (RFC 9457), because the status has been
// sent. Server-sent events have it as the data of a last event of the type error; JSON lines as the only member, error,
// of a last object. A stream that ends for another reason ends like a connection that breaks: no client takes it for
// complete. Only over HTTP/1.0, as some proxies speak it, does the end of a connection look like the end of the stream.
//
// A server-sent event cannot contain CR: each line break in the data is an LF for the client.
package stream

import (
	"mime"
	"time"
)

// Format is how the items of a body are separated.
type Format int

// The formats.
const (
	Events Format = iota + 1 // server-sent events: text/event-stream
	Lines                    // JSON lines: application/jsonl and application/x-ndjson
)

// FormatOf returns the format of a media type, which may have parameters.
func FormatOf(contentType string) (Format, bool) {
	media, _, _ := mime.ParseMediaType(contentType)
	f, ok := map[string]Format{
		"text/event-stream":    Events,
		"application/jsonl":    Lines,
		"application/x-ndjson": Lines,
	}[media]
	return f, ok
}

// Event is a server-sent event. See section 9.2 of the HTML Living Standard.
type Event[T any] struct {
	ID    string        // empty if the event has none
	Event string        // the type; if it is empty, clients take it for "message"
	Retry time.Duration // how long clients wait before they reconnect, in whole milliseconds; 0 changes nothing
	Data  T

	// IDOnly makes a server send the ID without an event. A client that reconnects resumes there.
	IDOnly bool
}

// Set sets the event to what a [Reader] has read, except for data in JSON, which the caller must decode. It returns
// where to: to nil if T is string, for which data is text.
//
// If *T has a method Of(event string) any, the type of the event selects what Of returns, such as a field of T. Of
// returns nil for types that are not known. Their data is left out.
func (e *Event[T]) Set(f Frame) (into any) {
	e.ID, e.Event, e.Retry = string(f.ID), string(f.Event), f.Retry
	switch data := any(&e.Data).(type) {
	case *string:
		*data = string(f.Data)
		return nil
	case interface{ Of(event string) any }:
		return data.Of(e.Event)
	}
	return &e.Data
}
