package auth_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/api/auth"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// silent is an implementation whose streams have no events.
type silent struct{ server.Unimplemented }

func (silent) StreamEvents(ctx context.Context, _ gen.StreamEventsRequestObject) (gen.StreamEventsResponseObject, error) {
	return gen.StreamEvents200EventStreamResponse{Items: func(func(stream.Event[gen.StreamEventsData], error) bool) { <-ctx.Done() }}, nil
}

func TestTokens_EndStreams(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, tokens *auth.Tokens, now *atomic.Pointer[time.Time]){
		"expired": func(_ *testing.T, _ *auth.Tokens, now *atomic.Pointer[time.Time]) {
			now.Store(new(now.Load().Add(auth.TokenLifetime)))
		},
		"revoked": func(t *testing.T, tokens *auth.Tokens, now *atomic.Pointer[time.Time]) {
			check(t, tokens.Revocations.Load(t.Context(), *now.Load()))
		},
		"key removed": func(t *testing.T, tokens *auth.Tokens, _ *atomic.Pointer[time.Time]) {
			check(t, tokens.SetKeys([]auth.SigningKey{{Seed: auth.NewSeed()}}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var now atomic.Pointer[time.Time]
			now.Store(new(time.Now()))
			tokens, err := auth.NewTokens([]auth.SigningKey{{Seed: auth.NewSeed()}}, func() time.Time { return *now.Load() })
			check(t, err)
			tokens.Revocations = &auth.Revocations{Read: func(context.Context, time.Time) (map[string]time.Time, error) {
				return map[string]time.Time{"ada": now.Load().Add(time.Second)}, nil
			}}
			handler, err := server.New(silent{}, server.Config{
				Authenticator: tokens, Middleware: []gen.StrictMiddlewareFunc{tokens.EndStreams},
			})
			check(t, err)
			service := httptest.NewServer(handler)
			t.Cleanup(service.Close)
			open := func(issued time.Time) *http.Response {
				token, err := tokens.Issue(studio.AccessToken{UserID: "ada", SessionID: "session", IssuedAt: issued})
				check(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), harness.Timeout)
				t.Cleanup(cancel)
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, service.URL+"/v1/events/stream", http.NoBody)
				check(t, err)
				request.Header.Set("Authorization", "Bearer "+token)
				response, err := http.DefaultClient.Do(request)
				check(t, err)
				t.Cleanup(func() { _ = response.Body.Close() })
				if response.StatusCode != http.StatusOK {
					t.Fatal(response.Status)
				}
				return response
			}
			ending := []*http.Response{open(*now.Load()), open(*now.Load())}
			end(t, tokens, &now)
			for _, response := range ending {
				text, err := io.ReadAll(response.Body)
				if !strings.HasPrefix(string(text), "event: error\n") || !strings.Contains(string(text), `"status":401`) || err != nil {
					t.Errorf("the stream ends with %q, %v", text, err)
				}
			}
			later := open(now.Load().Add(2 * time.Second)) // a new login
			ended := make(chan struct{})
			go func() { defer close(ended); _, _ = io.Copy(io.Discard, later.Body) }()
			select {
			case <-ended:
				t.Error("a stream with a valid token ends")
			case <-time.After(100 * time.Millisecond):
			}
		})
	}
}
