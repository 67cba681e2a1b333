package client

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"strings"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
)

// Raw sends a request with a method such as GET and returns the items of the stream in the response, whether the
// document describes them or not. The path begins with a slash and may have a query. The body is JSON, or nil. Data is
// the text of each item, which may have the format of server-sent events or of JSON lines.
//
// Each range over the result sends the request. The last pair has the error with which the stream ended, if any. A
// stream that breaks off is not resumed, but the option [After] sets the event after which it begins. POST and PATCH
// are retried only if the service cannot have processed the request.
func (c *Client) Raw(ctx context.Context, method, path string, body json.RawMessage, options ...CallOption) iter.Seq2[*stream.Event[string], error] {
	call := c.call(&operation{
		id: "raw", method: method, path: path, idempotent: method != http.MethodPost && method != http.MethodPatch, body: bodyItems,
		accept: []string{"text/event-stream, application/jsonl, application/x-ndjson, application/problem+json"},
	}, options)
	if !strings.HasPrefix(path, "/") {
		call.fail(errors.New("Raw: the path must begin with a slash"))
	}
	if body != nil {
		call.contentType, call.content = "application/json", body
	}
	return streamEvents[string](ctx, call)
}
