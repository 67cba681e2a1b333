package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
)

// ParseDateTime parses a date-time of ISO 8601.
var ParseDateTime = parseDateTime

// StreamEvents calls GET /stream like a method that is generated for server-sent events.
func StreamEvents[T any](ctx context.Context, c *Client, withIDs bool, options ...CallOption) iter.Seq2[*stream.Event[T], error] {
	return streamEvents[T](ctx, c.call(streamOperation("text/event-stream", withIDs), options))
}

// StreamItems calls GET /stream like a method that is generated for another stream.
func StreamItems[T any](ctx context.Context, c *Client, contentType string, options ...CallOption) iter.Seq2[*T, error] {
	return streamItems[T](ctx, c.call(streamOperation(contentType, false), options))
}

func streamOperation(contentType string, withIDs bool) *operation {
	format, _ := stream.FormatOf(contentType)
	return &operation{
		method: http.MethodGet, path: "/stream", idempotent: true, body: bodyItems,
		accept: []string{contentType}, format: format, resumable: withIDs,
	}
}
