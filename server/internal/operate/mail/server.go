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
	name                       string // of this service; "" for that of the machine
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

// connecting is how far a connection has come: the failure if it ends here, for the log.
type connecting struct {
	net.Conn

	stage   string
	needTLS bool // by STARTTLS
}

// Write observes the commands before TLS.
func (c *connecting) Write(p []byte) (int, error) {
	switch verb, _, _ := strings.Cut(string(p[:min(len(p), 8)]), " "); {
	case c.stage != "greeting" && c.stage != "starttls":
	case verb == "STARTTLS":
		c.stage = "tls"
	case c.needTLS:
		c.stage = "starttls" // is not offered
	default:
		c.stage = "reset"
	}
	return c.Conn.Write(p)
}

// client returns a client for one connection, which ends with ctx at the latest: the library does not close a
// connection that fails before the first mail. A server on this machine may have any certificate, and gets the password
// without TLS if it offers none.
func (s server) client(ctx context.Context, dial dialFunc, progress *connecting) (*gomail.Client, error) {
	security := &tls.Config{
		ServerName: s.host, MinVersion: tls.VersionTLS12, RootCAs: s.roots,
		InsecureSkipVerify: s.loopback(), //nolint:gosec // nothing leaves this machine
		VerifyConnection: func(tls.ConnectionState) error {
			progress.stage = "reset"
			return nil
		},
	}
	policy := gomail.TLSMandatory
	if s.implicitTLS || s.loopback() { // with TLS from the beginning, the server does not offer STARTTLS
		policy = gomail.TLSOpportunistic
	}
	progress.stage, progress.needTLS = "connect", policy == gomail.TLSMandatory
	options := []gomail.Option{
		gomail.WithPort(s.port), gomail.WithTimeout(sendTimeout), gomail.WithTLSConfig(security), gomail.WithTLSPolicy(policy),
		gomail.WithDialContextFunc(func(dialing context.Context, network, address string) (net.Conn, error) {
			connection, err := dial(dialing, network, address)
			if err != nil {
				return nil, err
			}
			context.AfterFunc(ctx, func() { _ = connection.Close() })
			progress.Conn, progress.stage = connection, "greeting"
			if !s.implicitTLS {
				return progress, nil
			}
			progress.stage = "tls"
			secured := tls.Client(connection, security)
			return secured, secured.HandshakeContext(dialing)
		}),
	}
	if s.name != "" {
		options = append(options, gomail.WithHELO(s.name))
	}
	if s.user != "" {
		options = append(options, gomail.WithSMTPAuthCustom(&login{server: s}))
	}
	return gomail.NewClient(s.host, options...)
}

// errNoLogin is returned if the server offers no login that the mailer knows.
var errNoLogin = errors.New("mail: no known way to log in")

// login logs in by the best way that the server offers. It sends the password only over TLS, or to this machine.
type login struct {
	smtp.Auth

	server server
}

// Start implements [smtp.Auth].
func (l *login) Start(offered *smtp.ServerInfo) (mechanism string, first []byte, err error) {
	user, password, host, plain := l.server.user, l.server.password, l.server.host, l.server.loopback()
	for _, known := range []struct {
		name string
		auth func() smtp.Auth
	}{
		{"SCRAM-SHA-256", func() smtp.Auth { return smtp.ScramSHA256Auth(user, password) }},
		{"SCRAM-SHA-1", func() smtp.Auth { return smtp.ScramSHA1Auth(user, password) }},
		{"CRAM-MD5", func() smtp.Auth { return smtp.CRAMMD5Auth(user, password) }},
		{"PLAIN", func() smtp.Auth { return smtp.PlainAuth("", user, password, host, plain) }},
		{"LOGIN", func() smtp.Auth { return smtp.LoginAuth(user, password, host, plain) }},
	} {
		if slices.Contains(offered.Auth, known.name) {
			l.Auth = known.auth()
			return l.Auth.Start(offered)
		}
	}
	return "", nil, errNoLogin
}

// describe returns the kind of a failure at a stage, or "" for none, and the status of the server, or 0. Texts of the
// server may contain addresses.
func describe(ctx context.Context, err error, stage string) (failure string, status int) {
	var timeout net.Error
	var name *net.DNSError
	var answer *textproto.Error
	var refusal *gomail.SendError
	var certificate *tls.CertificateVerificationError
	switch {
	case err == nil:
		return "", 0
	case ctx.Err() != nil, errors.As(err, &timeout) && timeout.Timeout():
		return "timeout", 0
	case errors.As(err, &name):
		return "dns", 0
	case errors.Is(err, errNoLogin):
		return "login", 0
	case errors.As(err, &certificate):
		return "certificate", 0
	case errors.As(err, &answer):
		return "refused", answer.Code
	case errors.As(err, &refusal) && refusal.ErrorCode() != 0:
		return "refused", refusal.ErrorCode()
	case errors.As(err, &refusal):
		return "send", 0
	case stage == "starttls" && (errors.Is(err, io.EOF) || errors.As(err, &timeout)): // net.Error
		return "reset", 0
	default:
		return stage, 0
	}
}
