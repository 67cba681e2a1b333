package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/gen"
)

// exchange sends a request and returns the response with its content. A body is JSON, unless a header says otherwise.
// The headers are lines such as "Accept: text/html".
func exchange(ctx context.Context, client *http.Client, method, url, body string, headers ...string) (*http.Response, string, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Set(name, value)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	return response, string(content), err
}

// ask is like exchange over a new connection. It follows no redirect, and trusts every certificate.
func ask(t testing.TB, method, url, body string, headers ...string) (response *http.Response, content string) {
	t.Helper()
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, TLSClientConfig: insecure()},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Timeout: harness.Timeout,
	}
	response, content, err := exchange(t.Context(), client, method, url, body, headers...)
	check(t, err)
	return response, content
}

func get(t testing.TB, url string, headers ...string) (response *http.Response, content string) {
	t.Helper()
	return ask(t, http.MethodGet, url, "", headers...)
}

// insecure accepts the certificates of tests.
func insecure() *tls.Config { return &tls.Config{InsecureSkipVerify: true} }

// from returns a client with its own source address.
func from(t *testing.T, address net.IP) *http.Client {
	t.Helper()
	transport := &http.Transport{DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: address}}).DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: harness.Timeout}
}

func bearer(token string) string { return "Authorization: Bearer " + token }

// send lists lip-syncs, or creates one if the method is POST. It returns the response without its content.
func send(ctx context.Context, client *http.Client, method, url, token string) (*http.Response, error) {
	path, body := "/v1/lipsync/list", ""
	if method == http.MethodPost {
		path, body = "/v1/lipsync/create_lipsync", "{}"
	}
	response, _, err := exchange(ctx, client, method, url+path, body, bearer(token))
	return response, err
}

// call is like send. It fails the test if there is no response.
func call(t *testing.T, client *http.Client, method, url, token string) *http.Response {
	t.Helper()
	return try(send(t.Context(), client, method, url, token))(t)
}

// listStatus lists lip-syncs over a new connection and returns the status.
func listStatus(t *testing.T, url, token string) int {
	t.Helper()
	return call(t, from(t, net.IPv4(127, 0, 0, 1)), http.MethodGet, url, token).StatusCode
}

func credentials(email, password string) string {
	return fmt.Sprintf(`{"email":%q,"password":%q}`, email, password)
}

// tryLogin sends one login and returns the status and the access token. The status is 0 without a response.
func tryLogin(ctx context.Context, client *http.Client, url, email, password string) (status int, token string) {
	var pair gen.TokenPair
	response, content, err := exchange(ctx, client, http.MethodPost, url+"/users/login", credentials(email, password))
	if err != nil {
		return 0, ""
	}
	_ = json.Unmarshal([]byte(content), &pair)
	return response.StatusCode, pair.AccessToken
}

func login(t *testing.T, url, email string) (pair gen.TokenPair) {
	t.Helper()
	_, content := ask(t, http.MethodPost, url+"/users/login", credentials(email, testPassword))
	check(t, json.Unmarshal([]byte(content), &pair))
	return pair
}

// A user over the rate limit gets 429 with Retry-After, and other classes of operations are not affected.
func TestDaemon_limitsRequestRate(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, func(cfg *daemonConfig) { cfg.UserRate = 1 })
	home := from(t, net.IPv4(127, 0, 0, 1))
	_, token := tryLogin(t.Context(), home, d.url(), testEmail, testPassword)
	began, refused := time.Now(), false
	for !refused && time.Since(began) < harness.Timeout { // one is admitted per second
		answer := call(t, home, http.MethodPost, d.url(), token)
		if refused = answer.StatusCode == http.StatusTooManyRequests; refused {
			for name, want := range map[string]string{"Retry-After": "1", "RateLimit": `"creations";r=0;t=1`, "RateLimit-Policy": `"creations";q=1;w=1`} {
				if got := answer.Header.Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
		}
	}
	if !refused {
		t.Error("no creation is refused")
	}
	if answer := call(t, home, http.MethodGet, d.url(), token); answer.StatusCode != http.StatusOK {
		t.Errorf("a list is answered %d", answer.StatusCode)
	}
}
