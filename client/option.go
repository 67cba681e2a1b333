package client

import (
	"context"
	"errors"
	"net/http"

	"github.com/avatarstudio/avatarstudio/gen"
)

const (
	headerIdempotencyKey = "Idempotency-Key"
	headerWorkspace      = "X-Workspace-Id"
)

var errNoWorkspace = errors.New("client: no workspace: set Config.Workspace or use WithWorkspace")

// CallOption changes a single call.
type CallOption func(*call)

type call struct {
	header http.Header
}

// WithIdempotencyKey names a creation, so that sending it again with the same key and the same
// body answers what the first call answered and creates nothing. It also allows net/http to
// send the call again when a kept connection turns out to be dead.
func WithIdempotencyKey(key string) CallOption {
	return func(c *call) { c.header.Set(headerIdempotencyKey, key) }
}

// WithWorkspace replaces [Config].Workspace.
func WithWorkspace(id string) CallOption {
	return func(c *call) { c.header.Set(headerWorkspace, id) }
}

func edit(options []CallOption) gen.RequestEditorFn {
	return func(_ context.Context, request *http.Request) error {
		c := call{header: request.Header}
		for _, option := range options {
			option(&c)
		}
		if workspace, sent := request.Header[headerWorkspace]; sent && workspace[0] == "" {
			return errNoWorkspace
		}
		return nil
	}
}
