package main

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// await waits until a daemon has a certificate, and returns its serial number.
func (a *authority) await(t *testing.T, addr string) (serial string) {
	t.Helper()
	harness.Eventually(t, "a certificate", func() bool {
		certificate, err := a.handshake(addr, testDomain)
		if err == nil {
			serial = certificate.SerialNumber.String()
		}
		return err == nil
	})
	return serial
}

// The daemon serves without a certificate until the authority is up, and then only its domain, also after a restart
// without the authority. Plain HTTP redirects to https.
func TestDomain_certificateComesAfterTheAuthorityIsUp(t *testing.T) {
	t.Parallel()
	a := startAuthority(t, authorityConfig{Validity: time.Hour, HTTPPort: plainPort, HTTPSPort: 1})
	dsn := studiotest.NewSQLite(t)
	a.down.Store(true)
	p := a.serve(t, dsn)
	check(t, p.AwaitLog("certificate not renewed.*next_attempt="))
	if _, err := a.handshake(a.addr(securePort), testDomain); err == nil {
		t.Error("without a certificate, a handshake succeeds")
	}
	if response, ready := get(t, p.AdminURL+"/readyz"); response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(ready, `"status":"no valid certificate","certificate":{"next_attempt":"20`) {
		t.Errorf("/readyz: %s", ready)
	}
	if log := p.Log(); strings.Contains(log, "0001-01-01") {
		t.Errorf("the log has a time that is none: %s", log)
	}
	a.down.Store(false)
	serial := a.await(t, a.addr(securePort))
	if response, ready := get(t, p.AdminURL+"/readyz"); response.StatusCode != http.StatusOK || !strings.Contains(ready, `"certificate":{"expires":"20`) {
		t.Errorf("/readyz: %s", ready)
	}

	for _, http2 := range []bool{true, false} {
		if status, proto, _ := shown(t, a.client(t, http2), "https://"+a.addr(securePort)); status != http.StatusOK || (proto == "HTTP/2.0") != http2 {
			t.Errorf("https: %d, %s", status, proto)
		}
	}
	for _, name := range []string{"other.example.com", "", a.host, "*.example.com"} {
		cfg := insecure()
		cfg.ServerName = name
		if connection, err := tls.Dial("tcp", a.addr(securePort), cfg); err == nil {
			_ = connection.Close()
			t.Errorf("a handshake for %q succeeds", name)
		}
	}
	if _, err := a.handshake(a.addr(securePort), "STUDIO.example.COM"); err != nil {
		t.Errorf("in upper case: %v", err)
	}
	client, plain := a.client(t, false), "http://"+a.addr(plainPort)
	for _, test := range []struct {
		method, path, location string
		status                 int
	}{
		{http.MethodGet, "/console?a=b%20c", "https://" + testDomain + "/console?a=b%20c", http.StatusPermanentRedirect},
		{http.MethodHead, "/a%2Fb", "https://" + testDomain + "/a%2Fb", http.StatusPermanentRedirect},
		{http.MethodPost, "/v1/login", "", http.StatusBadRequest},
		{http.MethodGet, "/.well-known/acme-challenge/no%2Ftoken", "", http.StatusNotFound},
		{http.MethodGet, "/" + strings.Repeat("a", 64<<10), "", http.StatusRequestHeaderFieldsTooLarge},
	} {
		answer, content, err := exchange(t.Context(), client, test.method, plain+test.path, "", "Host: evil.example")
		check(t, err)
		if answer.StatusCode != test.status || answer.Header.Get("Location") != test.location || answer.Header.Get("Strict-Transport-Security") != "" {
			t.Errorf("%s %.60s: %d, %v, %.200s", test.method, test.path, answer.StatusCode, answer.Header, content)
		}
	}
	if _, err := tls.Dial("tcp", a.addr(plainPort), insecure()); err == nil {
		t.Error("a handshake succeeds on the port for plain http")
	}
	check(t, p.Stop())

	a.down.Store(true)
	p = a.serve(t, dsn)
	if got := a.await(t, a.addr(securePort)); got != serial {
		t.Errorf("after a restart the certificate is %s, not %s", got, serial)
	}
	check(t, p.Stop())
	if a.orders.Load() != 2 { // one for each kind of challenge
		t.Errorf("%d orders", a.orders.Load())
	}
}

// The authority does not reach the port for http.
func TestDomain_renewsWithoutARestart(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it waits for the end of a certificate")
	a := startAuthority(t, authorityConfig{Validity: 15 * time.Second, HTTPPort: 1, HTTPSPort: securePort})
	p := a.serve(t, studiotest.NewSQLite(t))
	first := a.await(t, a.addr(securePort))
	client := a.client(t, true)
	shown(t, client, "https://"+a.addr(securePort))
	harness.Eventually(t, "a renewed certificate", func() bool {
		certificate, err := a.handshake(a.addr(securePort), testDomain) // fails on a machine that is too busy to renew in time
		return err == nil && certificate.SerialNumber.String() != first
	})
	if answer, _, err := exchange(t.Context(), client, http.MethodGet, "https://"+a.addr(securePort)+"/openapi.json", ""); err != nil || answer.TLS.PeerCertificates[0].SerialNumber.String() != first {
		t.Errorf("the connection from before was not kept: %v", err)
	}
	check(t, p.Stop())
}

// A domain that leads elsewhere costs one attempt. A restart does not repeat it.
func TestDomain_waitsAfterAFailedValidation(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it waits before the next order")
	a := startAuthority(t, authorityConfig{Validity: time.Hour, HTTPPort: 1, HTTPSPort: 1})
	dsn := studiotest.NewSQLite(t)
	p := a.serve(t, dsn)
	check(t, p.AwaitLog("certificate not renewed.*authorization error"))
	check(t, p.Stop())
	clients := a.clients.Load()
	p = a.serve(t, dsn)
	var state readiness
	harness.Eventually(t, "the next attempt in /readyz", func() bool {
		_, ready := get(t, p.AdminURL+"/readyz")
		return json.Unmarshal([]byte(ready), &state) == nil && state.Certificate != nil && !state.Certificate.NextAttempt.IsZero()
	})
	if wait := time.Until(state.Certificate.NextAttempt); wait < 4*time.Minute {
		t.Errorf("the next attempt is in %v", wait)
	}
	check(t, p.Stop())
	if a.clients.Load() != clients || clients == 0 || a.orders.Load() > 3 {
		t.Errorf("%d clients, %d of them after the failure, and %d orders", clients, a.clients.Load()-clients, a.orders.Load())
	}
}
