// Package mail sends short text mails to users over SMTP.
//
// Mails are sent in the background, and a mail that has not been sent when the process ends is lost. The log and the
// errors contain no address, password or answer of the server.
package mail

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	gomail "github.com/wneessen/go-mail"
)

const (
	// maxQueued bounds the mails that wait for their first or next try, so that a server that hangs costs little
	// memory.
	maxQueued = 256
	// maxConnections bounds the concurrent connections to the server.
	maxConnections = 2
	sendTimeout    = 30 * time.Second
	closeTimeout   = 2 * time.Second
)

// ErrRefused is returned if another try would not help, because the server or the form of the address refuses the mail.
var ErrRefused = errors.New("mail: the mail is refused")

var errNotSent = errors.New("mail: the mail could not be sent")

// Outcome is what became of a mail or of one try.
type Outcome string

// The outcomes.
const (
	Sent    Outcome = "sent"
	Retried Outcome = "retried" // it is tried again
	Failed  Outcome = "failed"  // after the last try
	Dropped Outcome = "dropped" // without a try, because too many mails wait
)

// Config configures a [Mailer]. URL and Name are required.
type Config struct {
	// URL names the server and the sender: smtp://USER@HOST:587?from=ADDRESS requires STARTTLS, unless HOST is a
	// loopback address, where it is used if it is offered, with any certificate, and the login is PLAIN or LOGIN.
	// smtps:// begins with TLS. Without USER, the mailer does not log in. The default ports are 587 and 465, and the
	// default sender is USER.
	URL string
	// Password is the password of USER.
	Password string
	// Name is the domain of the service, with which the mailer introduces itself (EHLO).
	Name string
	// OnMail is called for each outcome. It must be safe for concurrent use. Default: none.
	OnMail func(Outcome)
	// Logger gets a line when mails begin to fail, and one when they are sent again. Default: none.
	Logger *slog.Logger
}

// Message is a mail. It has no field for headers other than To and Subject.
type Message struct {
	To, Subject, Text string
}

// Mailer sends mails. It is safe for concurrent use.
type Mailer struct {
	cfg    Config
	server server
	dial   dialFunc
	// waits are those between the tries of a queued mail, and timeout bounds one try, with the connection and all
	// commands.
	waits   []time.Duration
	timeout time.Duration

	connections chan struct{}
	stop        context.Context //nolint:containedctx // ends the waits of queued mails with Close
	stopWaits   context.CancelFunc
	work        context.Context //nolint:containedctx // also ends their tries
	cutOff      context.CancelFunc

	mu      sync.Mutex
	queued  int
	closed  bool
	failing bool
	running sync.WaitGroup
}

// New returns a Mailer. It does not connect. The error is [ErrURL] or [ErrPassword].
func New(cfg Config) (*Mailer, error) {
	server, err := parse(cfg.URL, cfg.Password)
	if err != nil {
		return nil, err
	}
	server.name = cfg.Name
	if cfg.OnMail == nil {
		cfg.OnMail = func(Outcome) {}
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	m := &Mailer{
		cfg: cfg, server: server, dial: dialTCP, connections: make(chan struct{}, maxConnections),
		waits: []time.Duration{10 * time.Second, time.Minute, 5 * time.Minute}, timeout: sendTimeout,
	}
	m.work, m.cutOff = context.WithCancel(context.Background())
	m.stop, m.stopWaits = context.WithCancel(m.work)
	return m, nil
}

// Queue sends a mail in the background, with up to four tries. It reports whether there was room for the mail, and does
// not wait for the server.
func (m *Mailer) Queue(message Message) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.queued == maxQueued {
		m.cfg.OnMail(Dropped)
		return false
	}
	m.queued++
	m.running.Go(func() {
		m.deliver(message)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.queued--
	})
	return true
}

func (m *Mailer) deliver(message Message) {
	id := m.newID()
	for try := 0; ; try++ {
		err := m.send(m.work, message, id)
		switch {
		case err == nil:
			m.cfg.OnMail(Sent)
			return
		case errors.Is(err, ErrRefused) || try == len(m.waits):
			m.cfg.OnMail(Failed)
			return
		}
		m.cfg.OnMail(Retried)
		select {
		case <-m.stop.Done():
			m.cfg.OnMail(Failed)
			return
		case <-time.After(m.waits[try]):
		}
	}
}

// Send tries once to send a mail, and waits for the server for up to 30 seconds. The error is [ErrRefused] if another
// try would not help.
func (m *Mailer) Send(ctx context.Context, message Message) error {
	err := m.send(ctx, message, m.newID())
	if err == nil {
		m.cfg.OnMail(Sent)
	} else {
		m.cfg.OnMail(Failed)
	}
	return err
}

// Close ends the retries of queued mails, and waits for the tries that run, for up to two seconds.
func (m *Mailer) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.stopWaits()
	defer time.AfterFunc(closeTimeout, m.cutOff).Stop()
	m.running.Wait()
	m.cutOff()
}

// newID returns a Message-ID. All tries of a mail have the same, so that receivers can detect a duplicate.
func (m *Mailer) newID() string {
	_, domain, _ := strings.Cut(m.server.from, "@")
	return rand.Text() + "@" + domain
}

func (m *Mailer) send(ctx context.Context, message Message, id string) error {
	mail := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	if errors.Join(mail.FromFormat("Avatar Studio", m.server.from), mail.To(message.To)) != nil {
		return ErrRefused
	}
	mail.Subject(message.Subject)
	mail.SetBodyString(gomail.TypeTextPlain, message.Text)
	mail.SetMessageIDWithValue(id)
	mail.SetGenHeader("Auto-Submitted", "auto-generated")
	select {
	case m.connections <- struct{}{}:
		defer func() { <-m.connections }()
	case <-ctx.Done():
		return errNotSent
	}
	bound, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	client, err := m.server.client(bound, m.dial)
	if err == nil {
		err = client.DialAndSendWithContext(bound, mail)
	}
	if mail.IsDelivered() { // and only the end of the connection failed
		err = nil
	}
	if ctx.Err() == nil { // otherwise the try was cut off
		failure, status := describe(bound, err)
		m.observe(ctx, failure, status)
	}
	if refusal := (*gomail.SendError)(nil); errors.As(err, &refusal) && refusal.ErrorCode() >= 500 {
		return ErrRefused
	}
	if err != nil {
		return errNotSent
	}
	return nil
}

// observe logs the first failure after a success, and the first success after a failure. failure is "" for a success.
func (m *Mailer) observe(ctx context.Context, failure string, status int) {
	m.mu.Lock()
	changed := m.failing != (failure != "")
	m.failing = failure != ""
	m.mu.Unlock()
	switch {
	case !changed:
	case failure == "":
		m.cfg.Logger.InfoContext(ctx, "mails are sent again")
	default:
		m.cfg.Logger.WarnContext(ctx, "a mail was not sent; until one is sent, further failures are only counted", "failure", failure, "status", status)
	}
}
