package mail_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/mail"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest/smtptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var check = harness.Check

// newMailer returns a mailer for a URL, whose %s is the address of the server.
func newMailer(t *testing.T, url, password string, server *smtptest.Server) (m *mail.Mailer, count func(mail.Outcome) int, log *harness.Buffer) {
	t.Helper()
	outcomes := new(harness.Buffer)
	log = new(harness.Buffer)
	m, err := mail.New(mail.Config{
		URL: strings.Replace(url, "%s", server.Addr, 1), Password: password, Name: "studio.example",
		OnMail: func(outcome mail.Outcome) { _, _ = fmt.Fprintln(outcomes, outcome) },
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	check(t, err)
	m.SetTimes(time.Millisecond, harness.Timeout)
	t.Cleanup(func() { m.Close() })
	return m, func(outcome mail.Outcome) int { return strings.Count(outcomes.String(), string(outcome)) }, log
}

// certificate returns the certificate for example.com and 127.0.0.1 of net/http/httptest, and its root.
func certificate(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return &tls.Config{Certificates: s.TLS.Certificates, MinVersion: tls.VersionTLS12}, roots
}

var hello = mail.Invitation("bob@example.com", "https://studio.example/console/link?key=SECRET")

func TestMailer_Send_usesTLSBeyondThisMachine(t *testing.T) {
	t.Parallel()
	security, roots := certificate(t)
	old := security.Clone()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	const starttls, implicit = "smtp://robot%40example.com@example.com", "smtps://robot@example.com?from=robot@example.com"
	for name, test := range map[string]struct {
		url    string
		server smtptest.Config
		roots  *x509.CertPool
		want   string // the failure in the log; "" if the mail is sent
	}{
		"STARTTLS":               {starttls, smtptest.Config{TLS: security, Password: "pass"}, roots, ""},
		"implicit TLS":           {implicit, smtptest.Config{TLS: security, Password: "pass", Implicit: true}, roots, ""},
		"without STARTTLS":       {starttls, smtptest.Config{Password: "pass"}, roots, "unsupported"},
		"no login, no STARTTLS":  {"smtp://example.com?from=robot@example.com", smtptest.Config{}, roots, "unsupported"},
		"unknown certificate":    {starttls, smtptest.Config{TLS: security, Password: "pass"}, x509.NewCertPool(), "certificate"},
		"unknown, implicit TLS":  {implicit, smtptest.Config{TLS: security, Password: "pass", Implicit: true}, x509.NewCertPool(), "certificate"},
		"old TLS":                {starttls, smtptest.Config{TLS: old, Password: "pass"}, roots, "tls"},
		"wrong password":         {starttls, smtptest.Config{TLS: security, Password: "other"}, roots, "refused status=535"},
		"unknown login":          {starttls, smtptest.Config{TLS: security, Password: "pass", Logins: "GSSAPI"}, roots, "unsupported"},
		"an address":             {"smtp://robot@192.0.2.1?from=robot@example.com", smtptest.Config{Password: "pass"}, roots, "unsupported"},
		"no greeting":            {"smtp://example.com?from=robot@example.com", smtptest.Config{Answer: func(string) string { return "hello" }}, roots, "protocol"},
		"refused greeting":       {"smtp://example.com?from=robot@example.com", smtptest.Config{Answer: func(string) string { return "554 no" }}, roots, "refused status=554"},
		"loopback":               {"smtp://127.0.0.1?from=robot@example.com", smtptest.Config{}, nil, ""},
		"loopback with a login":  {"smtp://robot@localhost?from=robot@example.com", smtptest.Config{Password: "pass"}, nil, ""},
		"loopback with LOGIN":    {"smtp://robot@127.0.0.1?from=robot@example.com", smtptest.Config{Password: "pass", Logins: "NTLM LOGIN"}, nil, ""},
		"loopback with NTLM":     {"smtp://robot@127.0.0.1?from=robot@example.com", smtptest.Config{Password: "pass", Logins: "NTLM"}, nil, "unsupported"},
		"LOGIN":                  {starttls, smtptest.Config{TLS: security, Password: "pass", Logins: "LOGIN"}, roots, ""},
		"loopback with STARTTLS": {"smtp://robot@localhost?from=robot@example.com", smtptest.Config{TLS: security, Password: "pass"}, x509.NewCertPool(), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := smtptest.Start(t, test.server)
			password := "pass"
			if test.server.Password == "" {
				password = ""
			}
			m, _, log := newMailer(t, test.url, password, server)
			m.SetServer(server.Addr, map[bool]string{true: "465", false: "587"}[test.server.Implicit], test.roots)
			err := m.Send(t.Context(), hello)
			sent, mails := test.want == "", server.Mails()
			if (err == nil) != sent || len(mails) == 1 != sent || !sent && !strings.Contains(strings.ReplaceAll(log.String(), "\n", " "), "failure="+test.want+" ") {
				t.Fatalf("%d mails are sent, %v: %s", len(mails), err, log)
			}
			if sent && (mails[0].Name != "studio.example" || mails[0].Secure != (test.server.TLS != nil)) {
				t.Errorf("%s sent a mail, with TLS: %t", mails[0].Name, mails[0].Secure)
			}
			for _, secret := range []string{"pass", "robot", "bob", "SECRET", "127.0.0.1"} {
				if strings.Contains(log.String(), secret) {
					t.Errorf("the log shows %q: %s", secret, log)
				}
			}
			harness.Eventually(t, "that no connection is open", func() bool { _, open := server.Connections(); return open == 0 })
		})
	}
}

// A mail has the texts as they are, and only the headers that it needs: none that names the machine or the library.
func TestMailer_Send_sendsPlainText(t *testing.T) {
	t.Parallel()
	server := smtptest.Start(t, smtptest.Config{})
	m, _, _ := newMailer(t, "smtp://%s?from=robot@example.com", "", server)
	since := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		message mail.Message
		parts   []string
	}{
		{hello, []string{"within 7 days", "\nhttps://studio.example/console/link?key=SECRET\n"}},
		{mail.Reset("bob@example.com", "https://studio.example/x"), []string{"within 24 hours", "\nhttps://studio.example/x\n"}},
		{mail.FailingWebhook("bob@example.com", "https://me:hidden@a.example/hook?key=hidden", since, "https://studio.example/w"), []string{"22 Nov 2026, 10:00 UTC", "\nhttps://a.example/hook?…\n", "\nhttps://studio.example/w\n"}},
		{mail.DisabledWebhook("bob@example.com", "https://a.example/hook?key=hidden", "https://studio.example/w"), []string{"410", "\nhttps://a.example/hook?…\n"}},
	} {
		check(t, m.Send(t.Context(), test.message))
		mails := server.Mails()
		got := mails[len(mails)-1]
		for _, part := range test.parts {
			if !strings.Contains(got.Text, part) {
				t.Errorf("the mail lacks %q:\n%s", part, got.Text)
			}
		}
		if got.Text != test.message.Text || strings.Contains(got.Text, "hidden") || got.Header.Get("Subject") != test.message.Subject ||
			got.Header.Get("Date") == "" || got.Header.Get("Auto-Submitted") != "auto-generated" {
			t.Errorf("unexpected mail %v\n%s", got.Header, got.Text)
		}
		if got.From != "FROM:<robot@example.com> BODY=8BITMIME" || got.To != "TO:<bob@example.com>" || !strings.HasSuffix(got.Header.Get("Message-ID"), "@example.com>") {
			t.Errorf("the mail is from %s to %s: %v", got.From, got.To, got.Header)
		}
		for _, name := range []string{"User-Agent", "X-Mailer", "Bcc", "Cc"} {
			if got.Header.Get(name) != "" {
				t.Errorf("the mail has the header %s", name)
			}
		}
	}
	for range 300 { // more than may wait at once
		harness.Eventually(t, "room for a mail", func() bool { return m.Queue(hello) })
	}
}

func TestMailer_Send_refusesForgedAddressesAndHeaders(t *testing.T) {
	t.Parallel()
	server := smtptest.Start(t, smtptest.Config{})
	m, _, _ := newMailer(t, "smtp://%s?from=robot@example.com", "", server)
	for _, to := range []string{
		"", "bob", "bob@example.com, eve@example.com", "bob@example.com\r\nBcc: eve@example.com", "bob@example.com>\r\nRCPT TO:<eve@example.com",
		"\"bob\r\nBcc: eve\"@example.com", "bob@example.com\nRCPT TO:<eve@example.com>",
	} {
		if err := m.Send(t.Context(), mail.Message{To: to, Subject: "s", Text: "t"}); !errors.Is(err, mail.ErrRefused) {
			t.Errorf("a mail to %q: %v", to, err)
		}
	}
	if mails := server.Mails(); len(mails) > 0 {
		t.Errorf("%v are sent", mails)
	}
	check(t, m.Send(t.Context(), mail.Message{To: "bob@example.com", Subject: "a\r\nBcc: eve@example.com\r\n\r\nb", Text: ".\r\nRCPT TO:<eve@example.com>\n"}))
	got := server.Mails()[0]
	if got.Header.Get("Bcc") != "" || got.To != "TO:<bob@example.com>" || got.Text != ".\nRCPT TO:<eve@example.com>\n" {
		t.Errorf("a header is injected: %v %q", got.Header, got.Text)
	}
}

// While a server hangs, at any point, the caller does not wait, the memory is bounded, and one line is logged.
func TestMailer_Queue_survivesServersThatHang(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"connect", "EHLO", "RCPT", "DATA", "."} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			server := smtptest.Start(t, smtptest.Config{Answer: func(command string) string {
				if command == at {
					return "hang"
				}
				return ""
			}})
			m, count, log := newMailer(t, "smtp://%s?from=robot@example.com", "", server)
			m.SetTimes(time.Millisecond, 100*time.Millisecond)
			began := time.Now()
			queued := 0
			for range 1000 {
				if m.Queue(hello) {
					queued++
				}
			}
			if took := time.Since(began); queued < 256 || queued > 300 || took > harness.Timeout/4 {
				t.Errorf("%d mails are queued in %v", queued, took)
			}
			harness.Eventually(t, "retries", func() bool { return count(mail.Retried) > 2 })
			// The server notices later that a connection is closed.
			harness.Eventually(t, "two connections", func() bool { _, open := server.Connections(); return open <= 2 })
			m.Close()
			if m.Queue(hello) {
				t.Error("a closed mailer queues a mail")
			}
			if count(mail.Dropped) != 1000-queued+1 || count(mail.Failed) != queued {
				t.Errorf("%d of %d mails failed", count(mail.Failed), queued)
			}
			if strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), "failure=timeout") {
				t.Errorf("the log is\n%s", log)
			}
		})
	}
}

// The answers of a server, which may be anyone before TLS, take little memory.
func TestMailer_Send_refusesEndlessAnswers(t *testing.T) {
	t.Parallel()
	for at, test := range map[string]struct{ code, failure string }{"connect": {"220 ", "protocol"}, "EHLO": {"250 ", "send"}, "RCPT": {"250 ", "send"}} {
		server := smtptest.Start(t, smtptest.Config{Answer: func(command string) string {
			if command == at {
				return test.code + strings.Repeat("a", 1<<20)
			}
			return ""
		}})
		m, _, log := newMailer(t, "smtp://%s?from=robot@example.com", "", server)
		if err := m.Send(t.Context(), hello); err == nil || !strings.Contains(log.String(), "failure="+test.failure) || len(server.Mails()) > 0 {
			t.Errorf("%s: %v, the log is\n%s", at, err, log)
		}
	}
}

// A mail that is refused for now is tried again, up to four times in total, and one that is refused for good is not.
func TestMailer_Queue_retriesWhatMayPass(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		at, answer    string
		times, tries  int
		sent, refused bool
	}{
		"once":            {"RCPT", "451 try again, bob@example.com", 1, 2, true, false},
		"always":          {".", "451 try again, bob@example.com", 100, 4, false, false},
		"for good":        {"RCPT", "550 no bob@example.com here", 100, 1, false, true},
		"at the greeting": {"connect", "554 not from 127.0.0.1", 100, 4, false, false},
		"after the mail":  {"RSET", "421 good bye", 100, 1, true, false},
		"at the end":      {"QUIT", "hang", 100, 1, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			left := test.times
			server := smtptest.Start(t, smtptest.Config{Answer: func(command string) string {
				mu.Lock()
				defer mu.Unlock()
				if command != test.at || left == 0 {
					return ""
				}
				left--
				return test.answer
			}})
			m, count, log := newMailer(t, "smtp://%s?from=robot@example.com", "", server)
			if test.answer == "hang" {
				m.SetTimes(time.Millisecond, 2*time.Second)
			}
			m.Queue(hello)
			harness.Eventually(t, "the end", func() bool { return count(mail.Sent)+count(mail.Failed) == 1 })
			if all, _ := server.Connections(); all != test.tries || (len(server.Mails()) == 1) != test.sent || (count(mail.Sent) == 1) != test.sent {
				t.Errorf("%d tries sent %d mails", all, len(server.Mails()))
			}
			if text := log.String(); strings.Contains(text, "bob") || strings.Contains(text, "127.0.0.1") || strings.Count(text, "a mail was not sent") > 1 {
				t.Errorf("the log is\n%s", text)
			}
			if err := m.Send(t.Context(), hello); errors.Is(err, mail.ErrRefused) != test.refused || count(mail.Sent)+count(mail.Failed) != 2 {
				t.Errorf("another mail: %v", err)
			}
		})
	}
}

func TestNew_refusesInvalidServers(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]error{
		"smtp://robot@example.com@mail.example.com":              nil,
		"smtps://robot@mail.example.com:4650?from=a@example.com": nil,
		"":                 mail.ErrURL,
		"mail.example.com": mail.ErrURL,
		"https://robot@example.com@mail.example.com":               mail.ErrURL,
		"smtp://robot@mail.example.com":                            mail.ErrURL, // no sender
		"smtp://robot@example.com@mail.example.com:0":              mail.ErrURL,
		"smtp://robot@example.com@mail.example.com:70000":          mail.ErrURL,
		"smtp://robot@example.com@mail.example.com/path":           mail.ErrURL,
		"smtp://robot@mail.example.com?from=a@example.com&to=b":    mail.ErrURL,
		"smtp://robot@mail.example.com?from=a@example.com#b":       mail.ErrURL,
		"smtp://robot@mail.example.com?from=a%20<a@example.com>":   mail.ErrURL,
		"smtp://robot@:25?from=a@example.com":                      mail.ErrURL,
		"smtp://robot@mail.example.com?from=a@example.com%0d%0ax:": mail.ErrURL,
		"smtp://robot:pw@mail.example.com?from=a@example.com":      mail.ErrPassword,
		"smtp://mail.example.com?from=a@example.com":               mail.ErrPassword, // a password without a user
	} {
		m, err := mail.New(mail.Config{URL: url, Password: "password"})
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", url, err, want)
		}
		if err == nil {
			m.Close()
		}
	}
}
