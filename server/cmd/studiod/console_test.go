package main

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"strings"
	"testing"
)

// The console is there unless it is switched off, and the operations are there beside it.
func TestServe_showsTheConsole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want int
	}{
		"by default":    {want: http.StatusOK},
		"console=false": {args: []string{"--console=false"}, want: http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := newDatabase(t)
			prepareDatabase(t, dsn)
			p := startProcess(t, dsn, c.args...)
			for _, path := range []string{"/console", "/console/login", "/console/assets/console.css"} {
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

// Open pages do not hold up the stop of a daemon: what keeps them up to date ends, and is not cut off.
func TestProcess_endsTheStreamsOfTheConsole(t *testing.T) {
	t.Parallel()
	dsn := newDatabase(t)
	prepareDatabase(t, dsn)
	p := startProcess(t, dsn)
	jar, err := cookiejar.New(nil)
	check(t, err)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	browser := &http.Client{Jar: jar, Transport: transport}
	form := url.Values{"email": {testEmail}, "password": {testPassword}}.Encode()
	open := func(method, path string) *http.Response {
		request, err := http.NewRequestWithContext(t.Context(), method, p.url+path, strings.NewReader(form))
		check(t, err)
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		response, err := browser.Do(request)
		check(t, err)
		return response
	}
	check(t, open(http.MethodPost, "/console/login").Body.Close())
	stream := open(http.MethodGet, "/console/avatars/live")
	_, err = io.ReadFull(stream.Body, make([]byte, 1))
	check(t, err)
	if err := p.end(os.Interrupt); err != nil {
		t.Error(err)
	}
	if text, err := io.ReadAll(stream.Body); err != nil || !strings.Contains(string(text), "event: state") {
		t.Errorf("the stream ends with %v after %q", err, text)
	}
	check(t, stream.Body.Close())
}
