package client_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/client"
)

// No way to show a value that holds a password or a token shows it.
func TestSecrets_Hidden(t *testing.T) {
	t.Parallel()
	const canary = "canary-5150"
	config := client.Config{BaseURL: "http://localhost", Email: email, Password: canary}
	static := client.Config{BaseURL: "http://localhost", Token: canary}
	s := newService()
	s.token = func(int) string { return canary }
	renewing := s.direct(t, func(c *client.Config) { c.Password = password })
	mustGet(t, renewing)
	s.before = failing(details, http.StatusUnauthorized)

	values := []any{
		client.Secret(canary), new(client.Secret(canary)),
		[]client.Secret{canary},
		map[string]client.Secret{"k": canary},
		config, &config, static, &static,
		renewing, *renewing, renewing.Raw(), *renewing.Raw(), s.direct(t, func(c *client.Config) { c.Email, c.Password, c.Token = "", "", canary }),
		get(t, renewing),
		get(t, s.direct(t, func(c *client.Config) { c.Password = canary })),
		get(t, s.direct(t, func(c *client.Config) { c.Email, c.Password, c.Token = "", "", canary })),
	}
	var shown bytes.Buffer
	text, lines := slog.New(slog.NewTextHandler(&shown, nil)), slog.New(slog.NewJSONHandler(&shown, nil))
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
