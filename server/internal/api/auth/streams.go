package auth

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// streamInterval is how often the token of an open stream is checked.
const streamInterval = time.Second

// errEnded is the response to a request, and the end of a stream, whose token does not last as long.
var errEnded = &server.Error{
	Status: http.StatusUnauthorized, Detail: "The access token has expired or was revoked.", Err: studio.ErrUnauthorized,
}

// Middleware ends what goes on when the token of the caller is revoked. A request whose body arrived after that gets
// 401: otherwise a client could begin requests before, and send the rest of the bodies long after. An upload ends with
// its next bytes, and the stream of streamEvents within a second. A stream also ends when the token expires, or its
// signing key is removed; uploads go on then, because rotations remove old keys.
func (t *Tokens) Middleware(next gen.StrictHandlerFunc, _ string) gen.StrictHandlerFunc {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
		token, ok := server.PrincipalValue[*access](ctx)
		if !ok {
			return next(ctx, w, r, request)
		}
		switch sent := request.(type) {
		case gen.StreamEventsRequestObject:
			t.watchStream(ctx, w, token)
		case gen.UploadMediaRequestObject:
			sent.Body = upload{sent.Body, func() bool { return t.revoked(ctx, token) }}
			request = sent
		default:
			if r.ContentLength != 0 && t.revoked(ctx, token) {
				return nil, errEnded
			}
		}
		return next(ctx, w, r, request)
	}
}

// upload is the body of an upload. Reading it fails when the token is revoked.
type upload struct {
	io.Reader

	revoked func() bool
}

func (u upload) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	if u.revoked() {
		return 0, errEnded
	}
	return n, err
}

// watchStream checks the token of a stream until ctx ends. It needs no goroutine between the checks.
func (t *Tokens) watchStream(ctx context.Context, w http.ResponseWriter, token *access) {
	time.AfterFunc(streamInterval, func() {
		switch {
		case ctx.Err() != nil:
		case t.valid(ctx, token):
			t.watchStream(ctx, w, token)
		default:
			stream.End(w, errEnded)
		}
	})
}

// valid reports whether a token can still be used, without its signature.
func (t *Tokens) valid(ctx context.Context, token *access) bool {
	_, signing := t.verifier(token.keyID)
	return (token.apiKey != "" || signing && token.until.After(t.now())) && !t.revoked(ctx, token)
}

// revoked reports whether a token was revoked since it was checked. An API key that has expired counts as revoked.
func (t *Tokens) revoked(ctx context.Context, token *access) bool {
	if token.apiKey != "" {
		return !t.APIKeys.valid(ctx, token.apiKey)
	}
	return t.Revocations.Revokes(token.sessionID)
}
