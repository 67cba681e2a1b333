package auth

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// streamOperation is the operation that streams its response to the holder of a token.
const streamOperation = "streamEvents"

// streams are the open streams of a Tokens. Their tokens are checked every [studio.RevocationInterval], without their
// signatures, and their API keys when they are due.
type streams struct {
	mu    sync.Mutex
	open  map[*openStream]struct{}
	timer *time.Timer // runs while there are streams
}

// openStream is a response that is streamed to the caller with a token.
type openStream struct {
	token *access
	w     http.ResponseWriter
}

// EndStreams is a middleware. It ends the stream of streamEvents with 401 when the token of the caller expires or is
// revoked.
func (t *Tokens) EndStreams(next gen.StrictHandlerFunc, operationID string) gen.StrictHandlerFunc {
	if operationID != streamOperation {
		return next
	}
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
		if token, ok := server.PrincipalValue[*access](ctx); ok {
			t.addStream(ctx, &openStream{token, w})
		}
		return next(ctx, w, r, request)
	}
}

// addStream adds a stream until ctx ends.
func (t *Tokens) addStream(ctx context.Context, added *openStream) {
	s := &t.streams
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = make(map[*openStream]struct{})
		s.timer = time.AfterFunc(studio.RevocationInterval, t.checkStreams)
	} else if len(s.open) == 0 {
		s.timer.Reset(studio.RevocationInterval)
	}
	s.open[added] = struct{}{}
	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, added)
	})
}

// checkStreams ends the streams whose token is not valid.
func (t *Tokens) checkStreams() {
	s := &t.streams
	s.mu.Lock()
	open := slices.Collect(maps.Keys(s.open))
	s.mu.Unlock()
	valid := t.validity()
	ended := slices.DeleteFunc(open, func(one *openStream) bool { return valid(one.token) })
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range ended {
		stream.End(one.w, errStreamEnded)
		delete(s.open, one)
	}
	if len(s.open) > 0 {
		s.timer.Reset(studio.RevocationInterval)
	}
}

// validity returns a function that reports whether a token can still be used. It checks each API key once.
func (t *Tokens) validity() func(*access) bool {
	now, signing, apiKeys := t.now(), make(map[string]bool), make(map[string]bool)
	for _, key := range t.verifiers() {
		signing[key.id] = true
	}
	return func(token *access) bool {
		if token.apiKey == "" {
			return signing[token.keyID] && token.until.After(now) && !t.Revocations.Revokes(token.userID, token.sessionID, token.issued)
		}
		valid, checked := apiKeys[token.apiKey]
		if !checked {
			valid = t.APIKeys.valid(token.apiKey)
			apiKeys[token.apiKey] = valid
		}
		return valid
	}
}

// errStreamEnded is the error with which a stream ends.
var errStreamEnded = &server.Error{
	Status: http.StatusUnauthorized, Detail: "The access token has expired or was revoked.", Err: studio.ErrUnauthorized,
}
