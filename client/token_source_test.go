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

// source is a TokenSource that records its calls.
type source struct {
	give    func(refused client.Credential) (client.Credential, error)
	mu      sync.Mutex
	refused []client.Credential
}

func (s *source) Token(_ context.Context, refused client.Credential) (client.Credential, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = append(s.refused, refused)
	return s.give(refused)
}

func TestTokenSource_suppliesTokens(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		give    func(refused client.Credential) (client.Credential, error)
		err     error
		refused []client.Credential
		sent    []string
	}{
		"good": {func(client.Credential) (client.Credential, error) { return "good", nil }, nil, []client.Credential{""}, []string{"Bearer good"}},
		"renewed": {func(refused client.Credential) (client.Credential, error) {
			return map[client.Credential]client.Credential{"": "old", "old": "good"}[refused], nil
		}, nil, []client.Credential{"", "old"}, []string{"Bearer old", "Bearer good"}},
		"not renewed":    {func(client.Credential) (client.Credential, error) { return "old", nil }, client.ErrUnauthorized, []client.Credential{"", "old"}, []string{"Bearer old"}},
		"never accepted": {func(refused client.Credential) (client.Credential, error) { return refused + "x", nil }, client.ErrUnauthorized, []client.Credential{"", "x"}, []string{"Bearer x", "Bearer xx"}},
		"none":           {func(client.Credential) (client.Credential, error) { return "", nil }, client.ErrUnauthorized, []client.Credential{"", ""}, []string{""}},
		"none later": {func(refused client.Credential) (client.Credential, error) {
			return map[client.Credential]client.Credential{"": "old"}[refused], nil
		}, client.ErrUnauthorized, []client.Credential{"", "old"}, []string{"Bearer old", ""}},
		"fails": {func(client.Credential) (client.Credential, error) { return "", boom }, boom, []client.Credential{""}, nil},
		"fails later": {func(refused client.Credential) (client.Credential, error) {
			if refused == "" {
				return "old", nil
			}
			return "", boom
		}, boom, []client.Credential{"", "old"}, []string{"Bearer old"}},
	} {
		s := newService()
		s.accepted["good"] = true
		tokens := &source{give: test.give}
		c := s.direct(t, func(c *client.Config) { c.Email, c.Password, c.TokenSource = "", "", tokens })
		if err := get(t, c); !errors.Is(err, test.err) {
			t.Errorf("%s: error %v, want %v", name, err, test.err)
		}
		var sent []string
		for _, request := range s.requests(details) {
			sent = append(sent, request.header.Get("Authorization"))
		}
		if !slices.Equal(sent, test.sent) || !slices.Equal(tokens.refused, test.refused) {
			t.Errorf("%s: sent %q, refused %d", name, sent, len(tokens.refused))
		}
	}
}

// A token that a header cannot carry, or that is the whole header, is an error that does not show the token.
func TestTokenSource_refusesTokensThatNoHeaderCanCarry(t *testing.T) {
	t.Parallel()
	for _, token := range []client.Credential{"canary\n", "Bearer canary", "bearer  canary"} {
		s := newService()
		tokens := &source{give: func(client.Credential) (client.Credential, error) { return token, nil }}
		err := get(t, s.direct(t, func(c *client.Config) { c.Email, c.Password, c.TokenSource = "", "", tokens }))
		if err == nil || !strings.HasPrefix(err.Error(), "client: access token: ") || strings.Contains(err.Error(), "canary") || len(s.seen) != 0 {
			t.Errorf("error %v", err)
		}
	}
}
