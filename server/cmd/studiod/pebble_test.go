package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/gobuild"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/dnstest"
)

const (
	testDomain = "studio.example.com"
	plainPort  = 5080 // of the daemons under test, in place of 80 and 443
	securePort = 5443
)

// buildPebble returns the path of Pebble, a certificate authority for tests. It is a module of its own, so that it is
// not in the go.mod of the main module.
var buildPebble = sync.OnceValues(func() (path string, err error) {
	return gobuild.ProgramIn(context.Background(), filepath.Join("testdata", "pebble"), "github.com/letsencrypt/pebble/v2/cmd/pebble")
})

// nextHost distinguishes the hosts of parallel tests.
var nextHost atomic.Int32

const orderPath = "/order-plz" // of Pebble

// authority is a Pebble behind a proxy, which counts requests and can fail.
type authority struct {
	host  string // the loopback address that testDomain resolves to
	url   string // of the directory
	trust string // file with the certificate of url
	roots *x509.CertPool

	rootsPEM []byte

	clients, orders atomic.Int32 // a client first requests the directory
	down            atomic.Bool  // connections are closed without a response
}

type authorityConfig struct {
	Validity            time.Duration // of certificates
	HTTPPort, HTTPSPort int           // where it validates domains
}

func startAuthority(t *testing.T, cfg authorityConfig) *authority {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has further loopback addresses")
	}
	pebble, err := buildPebble()
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("Pebble cannot be built: %v", err)
	} else if err != nil {
		t.Skipf("Pebble cannot be built: %v", err)
	}
	a := &authority{host: fmt.Sprintf("127.%d.%d.1", 1+os.Getpid()%250, nextHost.Add(1))}
	dns := dnstest.Serve(t, func(name string) []string {
		if name != testDomain {
			return nil
		}
		return []string{a.host}
	})
	cert, key := certificate(t, "authority")
	certFile, keyFile := writeCertificate(t, cert, key)
	config := filepath.Join(t.TempDir(), "pebble.json")
	settings, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": a.host + ":14000", "managementListenAddress": a.host + ":15000", "certificate": certFile, "privateKey": keyFile,
		"httpPort": cfg.HTTPPort, "tlsPort": cfg.HTTPSPort, "retryAfter": map[string]int{"authz": 1, "order": 1}, "keyAlgorithm": "ecdsa",
		"profiles": map[string]any{"default": map[string]any{"description": "default", "validityPeriod": int(cfg.Validity.Seconds())}},
	}})
	check(t, err)
	check(t, os.WriteFile(config, settings, 0o600))
	command := exec.Command(pebble, "-config", config, "-dnsserver", dns)
	command.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1", "PEBBLE_AUTHZREUSE=0")
	harness.Run(t, command)

	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "https", Host: a.host + ":14000"})
	proxy.Transport = &http.Transport{TLSClientConfig: insecure()}
	proxy.ModifyResponse = func(response *http.Response) error {
		if strings.HasSuffix(response.Request.URL.Path, orderPath) && response.StatusCode == http.StatusBadRequest {
			a.orders.Add(-1) // Pebble rejects some nonces, and clients repeat those requests
		}
		return nil
	}
	front := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/dir" {
			a.clients.Add(1)
		}
		if strings.HasSuffix(r.URL.Path, orderPath) {
			a.orders.Add(1)
		}
		if a.down.Load() {
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	a.url, a.trust = front.URL+"/dir", filepath.Join(t.TempDir(), "trust.pem")
	check(t, os.WriteFile(a.trust, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw}), 0o600))

	var root *http.Response
	harness.Eventually(t, "Pebble is ready", func() bool {
		client := http.Client{Transport: proxy.Transport}
		root, err = client.Get("https://" + a.host + ":15000/roots/0")
		return err == nil
	})
	a.rootsPEM = try(io.ReadAll(root.Body))(t)
	check(t, root.Body.Close())
	a.roots = x509.NewCertPool()
	if !a.roots.AppendCertsFromPEM(bytes.TrimSpace(a.rootsPEM)) {
		t.Fatalf("no root certificate: %s", a.rootsPEM)
	}
	return a
}

// serve starts a daemon with the certificate of the authority.
func (a *authority) serve(t *testing.T, dsn string, args ...string) *harness.Daemon {
	t.Helper()
	command := serveBy(thisProgram(t), dsn, append([]string{
		"--domain", testDomain, "--admin-addr=127.0.0.1:0",
		"--addr", a.addr(securePort), "--http-addr", a.addr(plainPort),
	}, args...)...)
	command.Env = append(command.Env, "SSL_CERT_FILE="+a.trust, acmeVariable+"="+a.url)
	return harness.RunDaemon(t, command)
}

func (a *authority) addr(port int) string { return net.JoinHostPort(a.host, fmt.Sprint(port)) }

// handshake connects to a daemon, and returns its certificate.
func (a *authority) handshake(addr, name string) (*x509.Certificate, error) {
	connection, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: a.roots, ServerName: name})
	if err != nil {
		return nil, err
	}
	defer func() { _ = connection.Close() }()
	return connection.ConnectionState().PeerCertificates[0], nil
}

// client returns a client that connects to a daemon instead of testDomain. It follows no redirect.
func (a *authority) client(t *testing.T, http2 bool) *http.Client {
	t.Helper()
	client := secure(t, http2)
	transport := client.Transport.(*http.Transport)
	transport.TLSClientConfig.RootCAs, transport.TLSClientConfig.ServerName = a.roots, testDomain
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client
}
