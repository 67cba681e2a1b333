package httpserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/regularfile"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/telemetry/faultlog"
)

// certificateInterval is the interval at which certificate files are read.
const certificateInterval = time.Second

// Certificate is a certificate with its key. It is reloaded when its files change.
type Certificate struct {
	certFile, keyFile string
	certPEM, keyPEM   []byte // last content of the files, whether valid or not
	current           atomic.Pointer[tls.Certificate]
}

// LoadCertificate reads a PEM certificate, followed by its intermediate certificates, and its PEM key.
func LoadCertificate(certFile, keyFile string) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile}
	_, err := c.load()
	return c, err
}

// load reads the files and reports whether they have changed.
func (c *Certificate) load() (changed bool, err error) {
	certPEM, err := regularfile.Read(c.certFile)
	if err != nil {
		return false, err
	}
	keyPEM, err := regularfile.Read(c.keyFile)
	if err != nil {
		return false, err
	}
	if bytes.Equal(certPEM, c.certPEM) && bytes.Equal(keyPEM, c.keyPEM) {
		return false, nil
	}
	c.certPEM, c.keyPEM = certPEM, keyPEM
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err == nil {
		c.current.Store(&pair)
	}
	return true, err
}

// Run reads the files every second until ctx ends. New connections use the new certificate. While the files
// are invalid or do not match, they use the last valid one.
func (c *Certificate) Run(ctx context.Context, logger *slog.Logger) {
	const notLoaded = "certificate not loaded; the previous one stays in use"
	faults := faultlog.Log{Logger: logger}
	for ; ctx.Err() == nil; studio.Pause(ctx, certificateInterval) {
		switch changed, err := c.load(); {
		case err != nil && changed: // load does not return it again
			logger.WarnContext(ctx, notLoaded, "err", err)
		case err != nil:
			faults.Report(ctx, slog.LevelWarn, "certificate", notLoaded, "err", err)
		case changed:
			logger.InfoContext(ctx, "certificate loaded", "expires", c.Expires())
		}
	}
}

// Expires returns when the certificate expires.
func (c *Certificate) Expires() time.Time { return c.current.Load().Leaf.NotAfter }

// Config returns a [TLSConfig] with the certificate.
func (c *Certificate) Config() *tls.Config {
	return TLSConfig(func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil })
}

// TLSConfig returns a TLS configuration for HTTP/2 and HTTP/1.1. It allows TLS 1.3, and TLS 1.2 with forward
// secrecy and authenticated encryption.
func TLSConfig(certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		CipherSuites: []uint16{
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		},
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: certificate,
	}
}
