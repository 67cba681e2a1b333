package studio_test

import (
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func TestOrigin_identifiesAReceiver(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://hooks.example.com/a?b=c#d":   "https://hooks.example.com",
		"https://hooks.example.com?a":         "https://hooks.example.com",
		"http://hooks.example.com":            "http://hooks.example.com",
		"http://hooks.example.com:443/":       "http://hooks.example.com:443",
		"https://[2001:db8::1]:8443/":         "https://[2001:db8::1]:8443",
		"https://user:word@example.com/":      "https://example.com",
		"mailto:ada@example.com":              "mailto:ada@example.com",
		"https://example.com/\x7f not parsed": "https://example.com/\x7f not parsed",
		"":                                    "",
	} {
		if got := studio.Origin(url); got != want {
			t.Errorf("origin of %q is %q, want %q", url, got, want)
		}
	}
}

func TestWithoutQuery_hidesQuery(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://hooks.example.com":                 "https://hooks.example.com",
		"https://hooks.example.com:8443/a%2Fb/c":    "https://hooks.example.com:8443/a%2Fb/c",
		"https://hooks.example.com/a?key=canary":    "https://hooks.example.com/a?…",
		"https://hooks.example.com/a?":              "https://hooks.example.com/a",
		"https://hooks.example.com/a#canary":        "https://hooks.example.com/a?…",
		"https://canary:canary@hooks.example.com/a": "https://hooks.example.com/a",
		"https://hooks.example.com/%zz?key=canary":  "?…",
	} {
		if got := studio.WithoutQuery(url); got != want {
			t.Errorf("%s is shown as %s, want %s", url, got, want)
		}
	}
}
