package client_test

import (
	"net/http"
	"testing"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// Each call of a creation has its own idempotency key, and all its attempts have the same key.
func TestAutoKey_isTheSameForAllAttempts(t *testing.T) {
	t.Parallel()
	s := newService()
	s.before = failingFirst(create, answerStatus(http.StatusBadGateway), answerStatus(http.StatusServiceUnavailable))
	c := s.direct(t, static, func(c *client.Config) { c.Retry.BaseDelay = 1 })
	for range 2 {
		var response client.Response
		if _, err := c.CreateAvatar(t.Context(), gen.CreateAvatarRequest{}, client.WithResponse(&response)); err != nil {
			t.Fatal(err)
		}
		sent := s.requests(create)
		if got := sent[len(sent)-1].header.Get("Idempotency-Key"); got == "" || got != response.IdempotencyKey {
			t.Errorf("sent the key %q, told of %q", got, response.IdempotencyKey)
		}
	}
	var keys []string
	for _, request := range s.requests(create) {
		keys = append(keys, request.header["Idempotency-Key"]...)
	}
	if len(keys) != 4 || keys[0] != keys[1] || keys[1] != keys[2] || keys[2] == keys[3] || len(keys[0]) < 22 {
		t.Errorf("keys %q", keys)
	}
}

// Other operations have no key, and neither have creations with NoAutoKey.
func TestAutoKey_isOnlyForCreations(t *testing.T) {
	t.Parallel()
	s := newService()
	c := s.direct(t, static, func(c *client.Config) { c.NoAutoKey = true })
	if _, err := c.CreateAvatar(t.Context(), gen.CreateAvatarRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateAvatar(t.Context(), gen.CreateAvatarRequest{}, client.WithIdempotencyKey("mine")); err != nil {
		t.Fatal(err)
	}
	mustGet(t, s.direct(t, static))
	if sent := s.requests(create); sent[0].header["Idempotency-Key"] != nil || sent[1].header.Get("Idempotency-Key") != "mine" {
		t.Errorf("keys %q, %q", sent[0].header["Idempotency-Key"], sent[1].header["Idempotency-Key"])
	}
	if sent := s.requests(details); sent[0].header["Idempotency-Key"] != nil {
		t.Error("a read has a key")
	}
}
