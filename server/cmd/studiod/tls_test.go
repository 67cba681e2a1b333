package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// certificate returns a certificate for 127.0.0.1 and its key, as PEM.
func certificate(t *testing.T, name string) (cert, key []byte) {
	t.Helper()
	private := try(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der := try(x509.CreateCertificate(rand.Reader, template, template, private.Public(), private))(t)
	encoded := try(x509.MarshalPKCS8PrivateKey(private))(t)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}

// writeCertificate writes a certificate and a key to files.
func writeCertificate(t *testing.T, cert, key []byte) (certFile, keyFile string) {
	t.Helper()
	certFile, keyFile = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	check(t, os.WriteFile(certFile, cert, 0o600))
	check(t, os.WriteFile(keyFile, key, 0o600))
	return certFile, keyFile
}

// secure returns a client that trusts the given certificates.
func secure(t *testing.T, http2 bool, certs ...[]byte) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	for _, cert := range certs {
		pool.AppendCertsFromPEM(cert)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: http2}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: harness.Timeout}
}

// shown requests a public page. It returns the status, the protocol, and the name in the certificate.
func shown(t *testing.T, client *http.Client, url string) (status int, proto, name string) {
	t.Helper()
	answer, _, err := exchange(t.Context(), client, http.MethodGet, url+"/openapi.json", "")
	check(t, err)
	if got := answer.Header.Get("Strict-Transport-Security"); got != "max-age=31536000" {
		t.Errorf("Strict-Transport-Security is %q", got)
	}
	return answer.StatusCode, answer.Proto, answer.TLS.PeerCertificates[0].Subject.CommonName
}

func TestProcess_reloadsTLSCertificate(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	prepareDatabase(t, dsn)
	certFile, keyFile := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	write := func(cert, key []byte) {
		check(t, os.WriteFile(certFile, cert, 0o600))
		check(t, os.WriteFile(keyFile, key, 0o600))
	}
	firstCert, firstKey := certificate(t, "first")
	secondCert, secondKey := certificate(t, "second")
	write(firstCert, firstKey)
	p := harness.RunDaemon(t, serveBy(thisProgram(t), dsn, "--tls-cert", certFile, "--tls-key", keyFile))
	url := p.URL
	if !strings.HasPrefix(url, "https://") {
		t.Fatalf("it serves at %s", url)
	}
	both := [][]byte{firstCert, secondCert}
	kept, one := secure(t, true, both...), secure(t, false, both...)
	if status, proto, name := shown(t, kept, url); status != http.StatusOK || proto != "HTTP/2.0" || name != "first" {
		t.Errorf("HTTP/2: %d, %s, %s", status, proto, name)
	}
	if status, proto, name := shown(t, one, url); status != http.StatusOK || proto != "HTTP/1.1" || name != "first" {
		t.Errorf("HTTP/1.1: %d, %s, %s", status, proto, name)
	}
	if status, token := tryLogin(t.Context(), kept, url, testEmail, testPassword); status != http.StatusOK || token == "" {
		t.Errorf("a login is answered %d", status)
	}

	check(t, errors.Join(os.Remove(keyFile), p.AwaitLog("certificate not loaded")))
	check(t, errors.Join(os.WriteFile(keyFile, []byte("broken"), 0o600), p.AwaitLog("certificate not loaded.*key input")))
	if _, _, name := shown(t, secure(t, true, both...), url); name != "first" {
		t.Errorf("beside a broken pair a new connection gets %s", name)
	}
	write(secondCert, secondKey)
	check(t, p.AwaitLog("certificate loaded"))
	if _, _, name := shown(t, secure(t, true, both...), url); name != "second" {
		t.Errorf("a new connection gets %s", name)
	}
	for _, client := range []*http.Client{kept, one} {
		if _, _, name := shown(t, client, url); name != "first" {
			t.Errorf("a connection from before was not kept: %s", name)
		}
	}
	check(t, p.Stop())
}

func TestProcess_rejectsOldTLSVersions(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t, "one")
	certFile, keyFile := writeCertificate(t, cert, key)
	d := startDaemon(t, func(cfg *daemonConfig) {
		cfg.TLSCert, cfg.TLSKey, cfg.PublicURL = certFile, keyFile, "https://studio.example"
	})
	for name, refused := range map[string]*tls.Config{
		"TLS 1.1":                    {MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10},
		"a cipher without AEAD":      {MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}},
		"":                           {MaxVersion: tls.VersionTLS12},
		"a protocol that it has not": {NextProtos: []string{"h3"}},
	} {
		refused.InsecureSkipVerify = true
		dialer := tls.Dialer{Config: refused}
		connection, err := dialer.DialContext(context.Background(), "tcp", d.listener.Addr().String())
		if err == nil {
			_ = connection.Close()
		}
		if (err == nil) != (name == "") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
