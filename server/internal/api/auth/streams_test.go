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

// silent is an implementation whose streams have no events.
type silent struct{ server.Unimplemented }

func (silent) StreamEvents(ctx context.Context, _ gen.StreamEventsRequestObject) (gen.StreamEventsResponseObject, error) {
	return gen.StreamEvents200EventStreamResponse{Items: func(func(stream.Event[gen.StreamEventsData], error) bool) { <-ctx.Done() }}, nil
}

func TestTokens_EndStreams(t *testing.T) {
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
				Authenticator: tokens, Middleware: []gen.StrictMiddlewareFunc{tokens.EndStreams},
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
