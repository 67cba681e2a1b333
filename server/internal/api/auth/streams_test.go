package auth_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/api/auth"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
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

// slow is a body that arrives after the end of something.
type slow struct {
	io.Reader
	end func()
}

func (s slow) Read(p []byte) (int, error) {
	s.end()
	return s.Reader.Read(p)
}

// A token that is revoked while the body of its request arrives is of no use any more. Its expiry does not matter then.
func TestTokens_Middleware_refusesWhatArrivesLate(t *testing.T) {
	t.Parallel()
	ends := map[string]func(*keys, *auth.Tokens){
		"session": func(k *keys, tokens *auth.Tokens) { tokens.Revocations.Revoke("session", k.now) },
		secretKey: func(k *keys, _ *auth.Tokens) { k.err, k.now = studio.ErrUnauthorized, k.now.Add(time.Second) },
		"":        func(k *keys, _ *auth.Tokens) { k.now = k.now.Add(auth.TokenLifetime) },
	}
	contentTypes := map[string]string{"/v1/avatars/create_avatar": "application/json", "/v1/media": "image/png"}
	for ended, end := range ends {
		for path, want := range map[string]int{"/v1/avatars/create_avatar": http.StatusNotImplemented, "/v1/media": http.StatusCreated} {
			k := &keys{key: studio.APIKey{UserID: "ada"}}
			tokens, token := k.tokens(t), secretKey
			tokens.Revocations = new(auth.Revocations)
			if ended != secretKey {
				token = try(tokens.Issue(studio.AccessToken{UserID: "ada", SessionID: "session", IssuedAt: k.now}))(t)
			}
			if ended != "" {
				want = http.StatusUnauthorized
			}
			handler := try(server.New(silent{}, server.Config{Authenticator: tokens, Middleware: []gen.StrictMiddlewareFunc{tokens.Middleware}}))(t)
			request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, slow{strings.NewReader("{}"), func() { end(k, tokens) }})
			request.Header.Set("Authorization", "Bearer "+token)
			request.Header.Set("Content-Type", contentTypes[path])
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			if answer.Code != want {
				t.Errorf("%s after the end of %q: %d %s", path, ended, answer.Code, answer.Body)
			}
		}
	}
}

func TestTokens_Middleware_endsStreams(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(tokens *auth.Tokens, clock *studiotest.Clock) error{
		"expired": func(_ *auth.Tokens, clock *studiotest.Clock) error {
			clock.Add(auth.TokenLifetime)
			return nil
		},
		"key removed": func(tokens *auth.Tokens, _ *studiotest.Clock) error {
			return tokens.SetKeys([]auth.SigningKey{{Seed: auth.NewSeed()}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := studiotest.NewClock()
			tokens, err := auth.NewTokens([]auth.SigningKey{{Seed: auth.NewSeed()}}, clock.Now)
			check(t, err)
			handler, err := server.New(silent{}, server.Config{
				Authenticator: tokens, Middleware: []gen.StrictMiddlewareFunc{tokens.Middleware},
			})
			check(t, err)
			service := httptest.NewServer(handler)
			t.Cleanup(service.Close)
			ctx, cancel := context.WithTimeout(t.Context(), harness.Timeout)
			t.Cleanup(cancel)
			open := func() *http.Response {
				token, err := tokens.Issue(studio.AccessToken{UserID: "ada", SessionID: "session", IssuedAt: clock.Now()})
				check(t, err)
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, service.URL+"/v1/events/stream", http.NoBody)
				check(t, err)
				request.Header.Set("Authorization", "Bearer "+token)
				response := try(http.DefaultClient.Do(request))(t)
				t.Cleanup(func() { _ = response.Body.Close() })
				if response.StatusCode != http.StatusOK {
					t.Fatal(response.Status)
				}
				return response
			}
			first, second := open(), open()
			check(t, end(tokens, clock))
			clock.Add(time.Second)
			later := open() // a new login
			for _, response := range []*http.Response{first, second} {
				text, err := io.ReadAll(response.Body)
				if !strings.HasPrefix(string(text), "event: error\n") || !strings.Contains(string(text), `"status":401`) || err != nil {
					t.Errorf("the stream ends with %q, %v", text, err)
				}
			}
			cancel()
			if text, err := io.ReadAll(later.Body); !errors.Is(err, context.Canceled) {
				t.Errorf("a stream with a valid token ends with %q, %v", text, err)
			}
		})
	}
}
