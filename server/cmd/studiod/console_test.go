package main

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// visit signs in to the console of a daemon at a URL, and returns a function that sends a form or requests a page.
func visit(t *testing.T, base string) (open func(method, path string, form url.Values) *http.Response) {
	t.Helper()
	jar := try(cookiejar.New(nil))(t)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	browser := &http.Client{Jar: jar, Transport: transport}
	open = func(method, path string, form url.Values) *http.Response {
		t.Helper()
		request := try(http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(form.Encode())))(t)
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return try(browser.Do(request))(t)
	}
	response := open(http.MethodPost, "/console/login", url.Values{"email": {testEmail}, "password": {testPassword}})
	if readAll(t, response); response.Request.URL.Path != "/console/avatars" {
		t.Fatalf("the login leads to %s", response.Request.URL)
	}
	return open
}

func readAll(t *testing.T, response *http.Response) string {
	t.Helper()
	text := try(io.ReadAll(response.Body))(t)
	check(t, response.Body.Close())
	return string(text)
}

// GET / leads to the console, or to the reference if there is no console.
func TestConsole_isFoundFromTheRoot(t *testing.T) {
	t.Parallel()
	for console, location := range map[bool]string{true: "/console", false: "/docs"} {
		d := startDaemon(t, func(cfg *daemonConfig) { cfg.Console = console })
		root, _ := get(t, d.url()+"/")
		if got := root.Header.Get("Location"); got != location {
			t.Errorf("it is answered %s and sent to %q", root.Status, got)
		}
		for path, shows := range map[string]string{
			"/docs": `<a href="/docs/guide/">Guide</a>`, "/docs/guide/operation": "<h1", facePath: "not_found", // which only a demo lends
		} {
			if _, page := get(t, d.url()+path, "Accept: */*"); !strings.Contains(page, shows) {
				t.Errorf("%s is %s", path, page)
			}
		}
	}
}

// With an https --public-url, the session cookie is sent over https only. Without it, the daemon logs a
// warning.
func TestConsole_sessionCookieIsSecureBehindTLSProxy(t *testing.T) {
	t.Parallel()
	for public, want := range map[string]string{"": "studio-", "http://studio.example": "studio-", "https://studio.example": "__Host-studio-"} {
		d := startDaemon(t, func(cfg *daemonConfig) {
			cfg.Console, cfg.PublicURL = true, public
			cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
		})
		form := url.Values{"email": {testEmail}, "password": {testPassword}}
		answer, _ := ask(t, http.MethodPost, d.url()+"/console/login", form.Encode(), "Content-Type: application/x-www-form-urlencoded", "X-Forwarded-Proto: https", "X-Forwarded-For: 203.0.113.9, 198.51.100.7")
		cookie, secure := answer.Header.Get("Set-Cookie"), strings.HasPrefix(public, "https:")
		if !strings.HasPrefix(cookie, want) || strings.Contains(cookie, "; Secure") != secure || strings.Contains(d.log.String(), "over http") == secure {
			t.Errorf("%s: the cookie is %q, and the log\n%s", public, cookie, d.log)
		}
		if log := d.log.String(); !strings.Contains(log, "client=198.51.100.7") || strings.Contains(log, "203.0.113.9") {
			t.Errorf("the log has another address: %s", log)
		}
	}
}

// consoleCookie returns the cookie of a session in the console of the service at a URL.
func consoleCookie(t *testing.T, url, token string) string {
	t.Helper()
	signedOut, _ := ask(t, http.MethodPost, url+"/console/logout", "") // names the cookie
	return signedOut.Cookies()[0].Name + "=" + token
}
