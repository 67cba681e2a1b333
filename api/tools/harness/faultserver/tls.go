package faultserver

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"time"
)

// TLS is the TLS mode of a server.
type TLS int

// The TLS modes. Certificates are created when the server starts. All except SelfSigned are signed by
// [Server.RootCAs].
const (
	Plain          TLS = iota // no TLS
	Trusted                   // a valid certificate
	SelfSigned                // a self-signed certificate
	Expired                   // a certificate that expired a day ago
	WrongHost                 // a certificate for other.invalid only
	OldVersion                // TLS 1.1 at most
	HandshakeHang             // never responds to the handshake
	HandshakeClose            // closes the connection during the handshake
	HandshakeHTTP             // sends an HTTP response instead of the handshake
)

var errHandshake = errors.New("faultserver: no handshake")

// handshake returns the connection for HTTP.
func (t TLS) handshake(ctx context.Context, conn net.Conn, cfg *tls.Config) (net.Conn, error) {
	switch t {
	case Plain:
		return conn, nil
	case HandshakeHang:
		_, _ = io.Copy(io.Discard, conn)
		return nil, errHandshake
	case HandshakeHTTP:
		_, _ = conn.Read(make([]byte, 64<<10))
		_, _ = io.WriteString(conn, badRequest)
		return nil, errHandshake
	case HandshakeClose:
		return nil, errHandshake
	default:
		secure := tls.Server(conn, cfg)
		return secure, secure.HandshakeContext(ctx)
	}
}

// configure creates the certificates.
func (t TLS) configure(hosts []string) (*tls.Config, *x509.CertPool, error) {
	if t == Plain {
		return nil, nil, nil
	}
	now := time.Now()
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: now.Add(-48 * time.Hour), NotAfter: now.Add(240 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: root.NotBefore, NotAfter: root.NotAfter,
		DNSNames:    append([]string{"localhost"}, hosts...),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	switch t {
	case Expired:
		leaf.NotAfter = now.Add(-24 * time.Hour)
	case WrongHost:
		leaf.DNSNames, leaf.IPAddresses = []string{"other.invalid"}, nil
	case OldVersion:
		cfg.MinVersion, cfg.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	default:
	}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	signer, signerKey := root, rootKey
	if t == SelfSigned {
		signer, signerKey = leaf, leafKey
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, signer, leafKey.Public(), signerKey)
	if err != nil {
		return nil, nil, err
	}
	cfg.Certificates = []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: leafKey}}

	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, rootKey.Public(), rootKey)
	if err != nil {
		return nil, nil, err
	}
	parsed, err := x509.ParseCertificate(rootDER)
	if err != nil {
		return nil, nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return cfg, roots, nil
}
