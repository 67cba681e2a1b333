package client_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/client"
)

func TestOptions_rejectInvalidValues(t *testing.T) {
	t.Parallel()
	const canary = "canary\n"
	for name, options := range map[string][]client.CallOption{
		"Retry.Attempts": {client.WithRetry(client.Retry{Attempts: -1})},
		"WithTimeout":    {client.WithTimeout(0)},
		"WithIdempotencyKey": {
			client.WithIdempotencyKey(canary), client.WithIdempotencyKey(""), client.WithIdempotencyKey(strings.Repeat("canary", 43)),
		},
		"WithWorkspace": {client.WithWorkspace(canary)},
	} {
		for _, option := range options {
			s := newService()
			_, err := s.direct(t).GetAvatar(t.Context(), avatarID, option)
			if err == nil || !strings.HasPrefix(err.Error(), "client: "+name+": ") || strings.Contains(err.Error(), "canary") || len(s.seen) > 0 {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestWithRetry_overridesConfig(t *testing.T) {
	t.Parallel()
	s, times := timed("", 500, 500)
	c := s.direct(t, static, once)
	if err := get(t, c); !errors.Is(err, client.ErrServer) {
		t.Errorf("error %v", err)
	}
	if _, err := c.GetAvatar(t.Context(), avatarID, client.WithRetry(client.Retry{Attempts: 2, BaseDelay: 1})); err != nil {
		t.Error(err)
	}
	if len(*times) != 3 {
		t.Errorf("%d attempts", len(*times))
	}
}

func TestWithResponse_returnsResponse(t *testing.T) {
	t.Parallel()
	s, _ := timed("", 500)
	var response client.Response
	c := s.direct(t, static, func(c *client.Config) { c.Retry.BaseDelay = 1 })
	avatar, err := c.GetAvatar(t.Context(), avatarID, client.WithResponse(&response))
	if err != nil || avatar.AvatarID != avatarID {
		t.Fatalf("avatar %+v, error %v", avatar, err)
	}
	if response.StatusCode != 200 || response.Attempts != 2 || response.Header.Get("Content-Type") != "application/json" || !strings.Contains(string(response.Body), avatarID) {
		t.Errorf("response %+v", response)
	}
	s.before = failing(details, 404)
	if _, err = c.GetAvatar(t.Context(), avatarID, client.WithResponse(&response)); err == nil || response.StatusCode != 404 || response.Attempts != 1 || !strings.Contains(string(response.Body), "As the test wants it.") {
		t.Errorf("response %+v", response)
	}
}
