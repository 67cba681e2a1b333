package main

import (
	"net/http"
	"strings"
	"testing"
)

// The reference is there unless it is switched off, and the operations are there beside it.
func TestServe_showsTheReference(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want int
	}{
		"by default": {want: http.StatusOK},
		"docs=false": {args: []string{"--docs=false"}, want: http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := newDatabase(t)
			prepareDatabase(t, dsn)
			p := startProcess(t, dsn, c.args...)
			for _, path := range []string{"/docs", "/docs/swagger-ui-bundle.js", "/openapi.yaml", "/openapi.json"} {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+path, nil)
				check(t, err)
				response, err := http.DefaultClient.Do(request)
				check(t, err)
				check(t, response.Body.Close())
				if response.StatusCode != c.want {
					t.Errorf("%s: %s, want %d", path, response.Status, c.want)
				}
			}
			_, err := p.client.GetWebhookSecrets(t.Context())
			check(t, err)
		})
	}
}

// The package documentation is the manual: "studiod help" prints all of it.
func TestHelp_printsThePackageDocumentation(t *testing.T) {
	t.Parallel()
	code, help, stderr := studiod(t, "", "help")
	if code != exitOK {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	lines := 0
	for line := range strings.Lines(manual()) {
		lines++
		if !strings.Contains(help, strings.TrimSpace(line)) {
			t.Errorf("studiod help lacks %q", line)
		}
	}
	if lines < 50 || strings.Contains(help, "//\n") {
		t.Errorf("the manual has %d lines", lines)
	}
}
