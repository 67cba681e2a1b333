package listener

import (
	"bytes"
	"context"
	"crypto/tls"
	"log/slog"
	"os"
	"sync/atomic"
	"time"
)

// certificateInterval is how often the files of a certificate are read.
const certificateInterval = time.Second

// Certificate is a certificate and its key in files that may be replaced.
type Certificate struct {
	certFile, keyFile string
	certPEM, keyPEM   []byte // as they were read last, whether they fit or not
	current           atomic.Pointer[tls.Certificate]
}

// LoadCertificate reads a certificate, with what leads to its root, and its key, both as PEM.
func LoadCertificate(certFile, keyFile string) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile}
	_, err := c.load()
	return c, err
}

// load reads the files and reports whether they have changed.
func (c *Certificate) load() (changed bool, err error) {
	certPEM, err := os.ReadFile(c.certFile)
	if err != nil {
		return false, err
	}
	keyPEM, err := os.ReadFile(c.keyFile)
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

// Run reads the files again and again until ctx ends. New connections get a new certificate; while the
// files are not a pair, they get the last one that was.
func (c *Certificate) Run(ctx context.Context, logger *slog.Logger) {
	ticker := time.NewTicker(certificateInterval)
	defer ticker.Stop()
	unread := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		changed, err := c.load()
		switch {
		case err != nil && (changed || !unread):
			logger.WarnContext(ctx, "certificate not loaded, the one before stays", "err", err)
		case changed:
			logger.InfoContext(ctx, "certificate loaded", "expires", c.current.Load().Leaf.NotAfter)
		}
		unread = err != nil && !changed
	}
}

// Config returns what a server of HTTP/2 and HTTP/1.1 needs: TLS 1.2 with forward secrecy and
// authenticated encryption only, or 1.3.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		CipherSuites: []uint16{
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		},
		NextProtos:     []string{http2, "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}
