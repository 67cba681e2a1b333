package main

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// visit signs in to the console of a daemon at a URL, and returns a function that sends a form or requests a page.
func visit(t *testing.T, base string) (open func(method, path string, form url.Values) *http.Response) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	check(t, err)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	browser := &http.Client{Jar: jar, Transport: transport}
	open = func(method, path string, form url.Values) *http.Response {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(form.Encode()))
		check(t, err)
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		response, err := browser.Do(request)
		check(t, err)
		return response
	}
	response := open(http.MethodPost, "/console/login", url.Values{"email": {testEmail}, "password": {testPassword}})
	if readAll(t, response); response.Request.URL.Path != "/console/projects" {
		t.Fatalf("the login leads to %s", response.Request.URL)
	}
	return open
}

func readAll(t *testing.T, response *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(response.Body)
	check(t, err)
	check(t, response.Body.Close())
	return string(text)
}

// An operator sees all daemons on a PostgreSQL, whichever of them answers, until one ends.
func TestProcess_operatorsSeeAllDaemons(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewPostgres(t)
	prepareDatabase(t, dsn)
	must(t, "", "user", "role", "--db="+dsn, testEmail, "operator")
	one, other := startProcess(t, dsn), startProcess(t, dsn)
	for _, p := range []*process{one, other} {
		open := visit(t, p.url)
		eventually(t, "the fair share of both daemons", func() bool {
			return strings.Count(readAll(t, open(http.MethodGet, "/console/service", nil)), "<td>128</td>") == 2
		})
	}
	check(t, other.end(os.Interrupt))
	open := visit(t, one.url)
	eventually(t, "a daemon that has all", func() bool {
		return strings.Contains(readAll(t, open(http.MethodGet, "/console/service", nil)), "<td>256</td>")
	})
}

// Event streams of open pages end when the daemon stops, so they do not delay the stop.
func TestProcess_stopEndsConsoleStreams(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	prepareDatabase(t, dsn)
	p := startProcess(t, dsn)
	stream := visit(t, p.url)(http.MethodGet, "/console/avatars/live", nil)
	_, err := io.ReadFull(stream.Body, make([]byte, 1))
	check(t, err)
	if err := p.end(os.Interrupt); err != nil {
		t.Error(err)
	}
	if text, err := io.ReadAll(stream.Body); err != nil || !strings.Contains(string(text), "event: state") {
		t.Errorf("the stream ends with %v after %q", err, text)
	}
	check(t, stream.Body.Close())
}

// With an https --public-url, the session cookie is sent over https only. Without it, the daemon logs a
// warning.
func TestConsole_sessionCookieIsSecureBehindTLSProxy(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{"": "studio=", "http://studio.example": "studio=", "https://studio.example": "__Host-studio="} {
		d := startDaemon(t, func(cfg *daemonConfig) {
			cfg.Console, cfg.PublicURL = true, url
			cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
		})
		form := "email=" + testEmail + "&password=" + strings.ReplaceAll(testPassword, " ", "+")
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.url()+"/console/login", strings.NewReader(form))
		check(t, err)
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("X-Forwarded-Proto", "https")
		request.Close = true
		answer, err := http.DefaultTransport.RoundTrip(request)
		check(t, err)
		check(t, answer.Body.Close())
		cookie, secure := answer.Header.Get("Set-Cookie"), strings.HasPrefix(url, "https:")
		if !strings.HasPrefix(cookie, want) || strings.Contains(cookie, "; Secure") != secure || strings.Contains(d.log.String(), "over http") == secure {
			t.Errorf("%s: the cookie is %q, and the log\n%s", url, cookie, d.log)
		}
	}
}
