package mail

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/mail"
	"net/netip"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

var (
	// ErrURL is returned for a [Config].URL that is not valid.
	ErrURL = errors.New("the mail server must be smtp://USER@HOST:PORT or smtps://USER@HOST:PORT, with the sender in ?from=ADDRESS unless USER is one")
	// ErrPassword is returned if the URL contains a password, or if there is a user or a password without the other.
	ErrPassword = errors.New("the mail server needs both a user in its URL and a password outside of it, or neither")
)

// server is a parsed [Config].URL with its password.
type server struct {
	host, user, password, from string
	name                       string // of this service
	port                       int
	implicitTLS                bool
	roots                      *x509.CertPool // nil for those of the system
}

func parse(text, password string) (s server, err error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.Fragment != "" {
		return s, ErrURL
	}
	s = server{host: u.Hostname(), user: u.User.Username(), password: password, implicitTLS: u.Scheme == "smtps"}
	standard := "587"
	if s.implicitTLS {
		standard = "465"
	}
	port, err := strconv.ParseUint(cmp.Or(u.Port(), standard), 10, 16)
	query := u.Query()
	s.port, s.from = int(port), cmp.Or(query.Get("from"), s.user)
	query.Del("from")
	if address, invalid := mail.ParseAddress(s.from); err != nil || port == 0 || invalid != nil || address.Address != s.from || len(query) > 0 {
		return s, ErrURL
	}
	if _, inURL := u.User.Password(); inURL || (s.user == "") != (password == "") {
		return s, ErrPassword
	}
	return s, nil
}

// loopback reports whether the server is on this machine, so that it needs no TLS.
func (s server) loopback() bool {
	address, err := netip.ParseAddr(s.host)
	return s.host == "localhost" || err == nil && address.IsLoopback()
}

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

//nolint:gochecknoglobals // a function
var dialTCP dialFunc = new(net.Dialer).DialContext

// client returns a client for one connection, which ends with ctx at the latest: the library does not close a
// connection that fails before the first mail. A server on this machine may have any certificate, and gets the password
// without TLS if it offers none.
func (s server) client(ctx context.Context, dial dialFunc) (*gomail.Client, error) {
	security := &tls.Config{
		ServerName: s.host, MinVersion: tls.VersionTLS12, RootCAs: s.roots,
		InsecureSkipVerify: s.loopback(), //nolint:gosec // nothing leaves this machine
	}
	policy, login := gomail.TLSMandatory, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover)
	if s.implicitTLS || s.loopback() { // with TLS from the beginning, the server does not offer STARTTLS
		policy = gomail.TLSOpportunistic
	}
	switch {
	case s.user == "":
		login = gomail.WithSMTPAuth(gomail.SMTPAuthNoAuth)
	case s.loopback():
		login = gomail.WithSMTPAuthCustom(&localLogin{server: s})
	}
	return gomail.NewClient(
		s.host, gomail.WithPort(s.port), gomail.WithTimeout(sendTimeout), gomail.WithTLSConfig(security), gomail.WithTLSPolicy(policy),
		gomail.WithHELO(s.name), login, gomail.WithUsername(s.user), gomail.WithPassword(s.password),
		gomail.WithDialContextFunc(func(dialing context.Context, network, address string) (net.Conn, error) {
			dialed, err := dial(dialing, network, address)
			if err != nil {
				return nil, err
			}
			context.AfterFunc(ctx, func() { _ = dialed.Close() })
			connection := &bounded{dialed, maxAnswers}
			if !s.implicitTLS {
				return connection, nil
			}
			secured := tls.Client(connection, security)
			return secured, secured.HandshakeContext(dialing)
		}),
	)
}

// maxAnswers bounds the bytes of all answers of a server to a mail, including the handshake of TLS. The library holds a
// line, or the lines of an answer, until it ends.
const maxAnswers = 256 << 10

const errEndless = textproto.ProtocolError("mail: the answers of the server are too long")

// bounded is a connection from which at most left bytes are read.
type bounded struct {
	net.Conn

	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errEndless
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// localLogin logs in to a server on this machine, which may have no TLS, with PLAIN or else LOGIN.
type localLogin struct {
	smtp.Auth

	server server
}

func (l *localLogin) Start(offered *smtp.ServerInfo) (mechanism string, first []byte, err error) {
	switch s := l.server; {
	case slices.Contains(offered.Auth, "PLAIN"):
		l.Auth = smtp.PlainAuth("", s.user, s.password, s.host, true)
	case slices.Contains(offered.Auth, "LOGIN"):
		l.Auth = smtp.LoginAuth(s.user, s.password, s.host, true)
	default:
		return "", nil, gomail.ErrNoSupportedAuthDiscovered
	}
	return l.Auth.Start(offered)
}

// describe returns the kind of a failure, or "" for none, and the status of the server, or 0. Texts of the server may
// contain addresses.
func describe(ctx context.Context, err error) (failure string, status int) {
	var timeout net.Error
	var name *net.DNSError
	var network *net.OpError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var answer *textproto.Error
	var refusal *gomail.SendError
	var protocol textproto.ProtocolError
	switch {
	case err == nil:
		return "", 0
	case ctx.Err() != nil, errors.As(err, &timeout) && timeout.Timeout():
		return "timeout", 0
	case errors.As(err, &name):
		return "dns", 0
	case errors.As(err, &network) && network.Op == "dial":
		return "connect", 0
	case errors.As(err, &certificate):
		return "certificate", 0
	case errors.As(err, &record), network != nil && strings.HasSuffix(network.Op, " error"): // an alert
		return "tls", 0
	case errors.As(err, &answer):
		return "refused", answer.Code
	case errors.As(err, &refusal) && refusal.ErrorCode() != 0:
		return "refused", refusal.ErrorCode()
	case errors.As(err, &refusal):
		return "send", 0
	case errors.As(err, &protocol):
		return "protocol", 0
	case errors.Is(err, io.EOF), network != nil:
		return "reset", 0
	default:
		return "unsupported", 0
	}
}
