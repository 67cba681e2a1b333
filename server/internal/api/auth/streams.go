package auth

import (
	"context"
	"net/http"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// streamOperation is the operation that streams its response to the holder of a token.
	streamOperation = "streamEvents"
	// streamInterval is how often the token of an open stream is checked.
	streamInterval = time.Second
)

// errStreamEnded is the error with which a stream ends.
var errStreamEnded = &server.Error{
	Status: http.StatusUnauthorized, Detail: "The access token has expired or was revoked.", Err: studio.ErrUnauthorized,
}

// EndStreams is a middleware. It ends the stream of streamEvents with 401 when the token of the caller expires or is
// revoked.
func (t *Tokens) EndStreams(next gen.StrictHandlerFunc, operationID string) gen.StrictHandlerFunc {
	if operationID != streamOperation {
		return next
	}
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
		if token, ok := server.PrincipalValue[*access](ctx); ok {
			t.watchStream(ctx, w, token)
		}
		return next(ctx, w, r, request)
	}
}

// watchStream checks the token of a stream until ctx ends. It needs no goroutine between the checks.
func (t *Tokens) watchStream(ctx context.Context, w http.ResponseWriter, token *access) {
	time.AfterFunc(streamInterval, func() {
		switch {
		case ctx.Err() != nil:
		case t.valid(ctx, token):
			t.watchStream(ctx, w, token)
		default:
			stream.End(w, errStreamEnded)
		}
	})
}

// valid reports whether a token can still be used, without its signature.
func (t *Tokens) valid(ctx context.Context, token *access) bool {
	if token.apiKey != "" {
		return t.APIKeys.valid(ctx, token.apiKey)
	}
	_, signing := t.verifier(token.keyID)
	return signing && token.until.After(t.now()) && !t.Revocations.Revokes(token.userID, token.sessionID, token.issued)
}
