package auth_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/api/auth"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// silent is an implementation whose streams have no events, and which reads uploads.
type silent struct{ server.Unimplemented }

func (silent) UploadMedia(_ context.Context, request gen.UploadMediaRequestObject) (gen.UploadMediaResponseObject, error) {
	_, err := io.Copy(io.Discard, request.Body)
	return gen.UploadMedia201JSONResponse{}, err
}

func (silent) StreamEvents(ctx context.Context, _ gen.StreamEventsRequestObject) (gen.StreamEventsResponseObject, error) {
	return gen.StreamEvents200EventStreamResponse{Items: func(func(stream.Event[gen.StreamEventsData], error) bool) { <-ctx.Done() }}, nil
}

func TestTokens_Middleware_endsStreams(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*auth.Tokens) error{
		"expired":     func(*auth.Tokens) error { time.Sleep(auth.TokenLifetime); return nil },
		"key removed": func(tokens *auth.Tokens) error { return tokens.SetKeys([]auth.SigningKey{{Seed: auth.NewSeed()}}) },
	} {
		synctest.Test(t, func(t *testing.T) {
			tokens := try(auth.NewTokens([]auth.SigningKey{{Seed: auth.NewSeed()}}, time.Now))(t)
			handler := try(server.New(silent{}, server.Config{Authenticator: tokens, Middleware: []gen.StrictMiddlewareFunc{tokens.Middleware}}))(t)
			ctx, leave := context.WithCancel(t.Context())
			open := func() *httptest.ResponseRecorder {
				token := try(tokens.Issue(studio.AccessToken{UserID: "ada", SessionID: "session", IssuedAt: time.Now()}))(t)
				r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/events/stream", http.NoBody)
				r.Header.Set("Authorization", "Bearer "+token)
				w := httptest.NewRecorder()
				go handler.ServeHTTP(w, r)
				return w
			}
			ended := open()
			synctest.Wait()
			check(t, end(tokens))
			later := open() // a new login
			time.Sleep(time.Second)
			synctest.Wait()
			if text := ended.Body.String(); !strings.Contains(text, "event: error\n") || !strings.Contains(text, `"status":401`) {
				t.Errorf("%s: the stream ends with %q", name, text)
			}
			if later.Code != http.StatusOK || later.Body.Len() > 0 {
				t.Errorf("%s: a stream with a valid token is answered %d %q", name, later.Code, later.Body)
			}
			leave()
			synctest.Wait()
		})
	}
}

// slow is a body that arrives after something else.
type slow func(p []byte) (int, error)

func (s slow) Read(p []byte) (int, error) { return s(p) }

// A token that is revoked while the body of its request arrives is of no use any more. Its expiry does not matter then.
func TestTokens_Middleware_refusesWhatArrivesLate(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]struct {
		contentType string
		status      int
	}{"/v1/avatars/create_avatar": {"application/json", http.StatusNotImplemented}, "/v1/media": {"image/png", http.StatusCreated}} {
		for _, end := range []string{"session", "key", "expiry"} {
			k := &keys{key: studio.APIKey{UserID: "ada"}}
			tokens, token := k.tokens(t), secretKey
			tokens.Revocations = new(auth.Revocations)
			if end != "key" {
				token = try(tokens.Issue(studio.AccessToken{UserID: "ada", SessionID: "session", IssuedAt: k.now}))(t)
			}
			handler := try(server.New(silent{}, server.Config{Authenticator: tokens, Middleware: []gen.StrictMiddlewareFunc{tokens.Middleware}}))(t)
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, slow(func(p []byte) (int, error) {
				switch k.now = k.now.Add(auth.TokenLifetime); end {
				case "session":
					tokens.Revocations.Revoke(end, k.now)
				case "key":
					k.err = studio.ErrUnauthorized
				}
				return copy(p, "{}"), io.EOF
			}))
			r.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {want.contentType}}
			w := httptest.NewRecorder()
			if handler.ServeHTTP(w, r); w.Code != want.status && end == "expiry" || w.Code != http.StatusUnauthorized && end != "expiry" {
				t.Errorf("%s after the end of a right (%s): %d %s", path, end, w.Code, w.Body)
			}
		}
	}
}
