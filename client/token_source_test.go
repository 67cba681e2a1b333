package client_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/avatarstudio/avatarstudio/client"
)

// source gives the tokens of a test and remembers what it was told.
type source struct {
	give    func(refused client.Secret) (client.Secret, error)
	mu      sync.Mutex
	refused []client.Secret
}

func (s *source) Token(_ context.Context, refused client.Secret) (client.Secret, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = append(s.refused, refused)
	return s.give(refused)
}

func TestTokenSource(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		give    func(refused client.Secret) (client.Secret, error)
		err     error
		refused []client.Secret
		sent    []string
	}{
		"good": {func(client.Secret) (client.Secret, error) { return "good", nil }, nil, []client.Secret{""}, []string{"Bearer good"}},
		"renewed": {func(refused client.Secret) (client.Secret, error) {
			return map[client.Secret]client.Secret{"": "old", "old": "good"}[refused], nil
		}, nil, []client.Secret{"", "old"}, []string{"Bearer old", "Bearer good"}},
		"not renewed": {func(client.Secret) (client.Secret, error) { return "old", nil }, client.ErrUnauthorized, []client.Secret{"", "old"}, []string{"Bearer old"}},
		"never good":  {func(refused client.Secret) (client.Secret, error) { return refused + "x", nil }, client.ErrUnauthorized, []client.Secret{"", "x"}, []string{"Bearer x", "Bearer xx"}},
		"none":        {func(client.Secret) (client.Secret, error) { return "", nil }, client.ErrUnauthorized, []client.Secret{"", ""}, []string{""}},
		"fails":       {func(client.Secret) (client.Secret, error) { return "", boom }, boom, []client.Secret{""}, nil},
		"fails later": {func(refused client.Secret) (client.Secret, error) {
			if refused == "" {
				return "old", nil
			}
			return "", boom
		}, boom, []client.Secret{"", "old"}, []string{"Bearer old"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService()
			s.accepted["good"] = true
			tokens := &source{give: test.give}
			c := s.direct(t, func(c *client.Config) { c.Email, c.Password, c.TokenSource = "", "", tokens })
			if err := get(t, c); !errors.Is(err, test.err) {
				t.Errorf("error %v, want %v", err, test.err)
			}
			var sent []string
			for _, request := range s.requests(details) {
				sent = append(sent, request.header.Get("Authorization"))
			}
			if !slices.Equal(sent, test.sent) || !slices.Equal(tokens.refused, test.refused) {
				t.Errorf("sent %q, refused %d", sent, len(tokens.refused))
			}
		})
	}
}

// What the source gives goes into a header, and is not shown if it cannot.
func TestTokenSource_NoHeader(t *testing.T) {
	t.Parallel()
	s := newService()
	tokens := &source{give: func(client.Secret) (client.Secret, error) { return "canary\n", nil }}
	err := get(t, s.direct(t, func(c *client.Config) { c.Email, c.Password, c.TokenSource = "", "", tokens }))
	if err == nil || !strings.HasPrefix(err.Error(), "client: access token: ") || strings.Contains(err.Error(), "canary") || len(s.seen) != 0 {
		t.Errorf("error %v", err)
	}
}
