package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/avatarstudio/avatarstudio/client"
)

// Printing, logging and marshalling show no password or token, in whatever type they are.
func TestSecrets_areNeverShown(t *testing.T) {
	t.Parallel()
	const canary = "canary-5150"
	config := client.Config{BaseURL: "http://localhost", Email: email, Password: canary}
	static := client.Config{BaseURL: "http://localhost", Token: canary}
	sourced := client.Config{BaseURL: "http://localhost", TokenSource: giving(func() client.Credential { return canary })}
	fromSource := func(c *client.Config) { c.Email, c.Password, c.TokenSource = "", "", sourced.TokenSource }
	var shown bytes.Buffer
	text, lines := slog.New(slog.NewTextHandler(&shown, everything)), slog.New(slog.NewJSONHandler(&shown, everything))
	s := newService()
	s.token = func(int) string { return canary }
	renewing := s.direct(t, func(c *client.Config) { c.Password, c.Logger = password, text })
	mustGet(t, renewing)
	s.before = failing(details, http.StatusUnauthorized)

	marshalled := try(client.Credential(canary).MarshalText())(t)
	values := []any{
		client.Credential(canary), new(client.Credential(canary)),
		[]client.Credential{canary},
		map[string]client.Credential{"k": canary},
		client.Credential(canary).String(), string(marshalled),
		config, &config, static, &static, sourced, &sourced,
		renewing, s.direct(t, func(c *client.Config) { c.Email, c.Password, c.Token = "", "", canary }),
		struct{ c *client.Client }{renewing},
		s.direct(t, fromSource),
		get(t, renewing), get(t, s.direct(t, fromSource)),
		get(t, s.direct(t, func(c *client.Config) { c.Password = canary })),
		get(t, s.direct(t, func(c *client.Config) { c.Email, c.Password, c.Token = "", "", canary })),
	}
	for _, value := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
			fmt.Fprintf(&shown, verb+"\n", value)
		}
		fmt.Fprintln(&shown, value)
		text.Info("value", "v", value)
		lines.Info("value", "v", value)
		encoded, _ := json.Marshal(value)
		shown.Write(encoded)
	}
	for _, form := range []string{canary, fmt.Sprintf("%x", canary), fmt.Sprintf("%X", canary)} {
		for line := range strings.Lines(shown.String()) {
			if strings.Contains(line, form) {
				t.Errorf("shown: %s", line)
			}
		}
	}
	if !strings.Contains(shown.String(), "[hidden]") {
		t.Error("nothing was hidden")
	}
}

// giving is a TokenSource that fmt cannot print.
type giving func() client.Credential

func (g giving) Token(context.Context, client.Credential) (client.Credential, error) { return g(), nil }

// everything enables all log levels.
var everything = &slog.HandlerOptions{Level: slog.Level(-100)}

// The logger logs new tokens and retries, and no secret, query or body.
func TestLogger_logsTokensAndRetriesWithoutSecrets(t *testing.T) {
	t.Parallel()
	const canary = "canary-5150"
	var shown bytes.Buffer
	s := newService()
	s.token = func(int) string { return canary }
	var failures atomic.Int64
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/users/login" {
			return false
		}
		switch failures.Add(1) {
		case 2:
			panic(http.ErrAbortHandler)
		case 4:
			return false
		}
		return failing(details, http.StatusServiceUnavailable)(w, r)
	}
	c := s.start(t, func(c *client.Config) {
		c.Logger, c.Retry = slog.New(slog.NewTextHandler(&shown, everything)), client.Retry{BaseDelay: 1}
	})
	check(t, errorOf(c.GetAvatar(t.Context(), canary)))
	for line, want := range map[string]int{
		`level=DEBUG msg="new token" expires=0001-01-01T00:00:00.000Z`:                                               1,
		`level=WARN msg=retrying method=GET path=/v1/avatars/avatar_details attempt=`:                                3,
		`err="client: GET /v1/avatars/avatar_details: 503 Service Unavailable: As the test wants it. (request r-1)"`: 2,
		canary:   0,
		password: 0,
	} {
		if got := strings.Count(shown.String(), line); got != want {
			t.Errorf("%s: %d times, want %d, in\n%s", line, got, want, &shown)
		}
	}
}
