// Package smtptest is an SMTP server for tests.
package smtptest

import (
	"bufio"
	"cmp"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// Config configures a [Server]. The zero value accepts all mails without TLS and logins.
type Config struct {
	TLS      *tls.Config // offers STARTTLS, and refuses mails without it
	Implicit bool        // begins with TLS
	Password string      // refuses mails without a login that has it
	Logins   string      // that are offered; default PLAIN, which succeeds, as LOGIN does
	// Answer returns the answer to a command, such as RCPT, or to the mail, as the command ".". "" accepts it, and
	// "hang" is no answer. Default: all are accepted.
	Answer func(command string) string
}

// Mail is a mail that the server has accepted.
type Mail struct {
	Name     string // of EHLO
	From, To string // of the commands
	Secure   bool   // with TLS
	Header   mail.Header
	Text     string
}

// Server is a running server.
type Server struct {
	Addr string

	cfg      Config
	listener net.Listener
	running  sync.WaitGroup

	mu          sync.Mutex
	connections map[net.Conn]bool
	accepted    int
	mails       []Mail
}

// Start starts a server on a free port of this machine. It stops when the test ends.
func Start(t testing.TB, cfg Config) *Server {
	t.Helper()
	listener := harness.Try(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	s := &Server{Addr: listener.Addr().String(), cfg: cfg, listener: listener, connections: make(map[net.Conn]bool)}
	s.running.Go(s.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		s.mu.Lock()
		for connection := range s.connections {
			_ = connection.Close()
		}
		s.mu.Unlock()
		s.running.Wait()
	})
	return s
}

// Mails returns the mails that were accepted.
func (s *Server) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mails)
}

// Connections returns how many connections were opened, and how many are open.
func (s *Server) Connections() (all, open int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted, len(s.connections)
}

func (s *Server) accept() {
	for {
		connection, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.connections[connection] = true
		s.accepted++
		s.mu.Unlock()
		s.running.Go(func() {
			s.serve(connection)
			_ = connection.Close()
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.connections, connection)
		})
	}
}

// session is the state of a connection.
type session struct {
	secure, loggedIn bool
	mail             Mail
}

func (s *Server) serve(connection net.Conn) {
	var state session
	if s.cfg.Implicit {
		connection, state.secure = tls.Server(connection, s.cfg.TLS), true
	}
	lines := textproto.NewReader(bufio.NewReader(connection))
	answer := func(command, accepted string) bool {
		text := ""
		if s.cfg.Answer != nil {
			text = s.cfg.Answer(command)
		}
		if text == "hang" {
			_, _ = io.Copy(io.Discard, connection) // until the client closes the connection
			return false
		}
		if text == "" {
			text = accepted
		}
		_, err := io.WriteString(connection, text+"\r\n")
		return err == nil && text == accepted
	}
	answer("connect", "220 mail.test")
	for {
		line, err := lines.ReadLine()
		if err != nil {
			return
		}
		command, argument, _ := strings.Cut(line, " ")
		switch command = strings.ToUpper(command); command {
		case "EHLO":
			state.mail.Name = argument
			answer(command, s.extensions(state))
		case "STARTTLS":
			if answer(command, "220 go on") {
				connection, state.secure = tls.Server(connection, s.cfg.TLS), true
				lines = textproto.NewReader(bufio.NewReader(connection))
			}
		case "AUTH":
			mechanism, encoded, _ := strings.Cut(argument, " ")
			if mechanism == "LOGIN" { // asks for the user, and then for the password
				for _, question := range []string{"Username:", "Password:"} {
					answer(command, "334 "+base64.StdEncoding.EncodeToString([]byte(question)))
					encoded, _ = lines.ReadLine()
				}
			}
			secret, _ := base64.StdEncoding.DecodeString(encoded)
			if state.loggedIn = slices.Contains([]string{"PLAIN", "LOGIN"}, mechanism) && strings.HasSuffix("\x00"+string(secret), "\x00"+s.cfg.Password); state.loggedIn {
				answer(command, "235 welcome")
			} else {
				answer(command, "535 wrong password of "+string(secret))
			}
		case "MAIL":
			if s.cfg.TLS != nil && !state.secure || s.cfg.Password != "" && !state.loggedIn {
				answer(command, "530 not before STARTTLS and AUTH")
				continue
			}
			state.mail.From = argument
			answer(command, "250 ok")
		case "RCPT":
			state.mail.To = argument
			answer(command, "250 ok")
		case "DATA":
			if !answer(command, "354 go on") {
				continue
			}
			content, err := mail.ReadMessage(bufio.NewReader(lines.DotReader()))
			if err != nil {
				return
			}
			text, err := io.ReadAll(quotedprintable.NewReader(content.Body))
			if err != nil {
				return
			}
			state.mail.Secure = state.secure
			state.mail.Header, state.mail.Text = content.Header, strings.ReplaceAll(string(text), "\r\n", "\n")
			if answer(".", "250 ok") {
				s.mu.Lock()
				s.mails = append(s.mails, state.mail)
				s.mu.Unlock()
			}
		case "QUIT":
			answer(command, "221 bye")
			return
		default:
			answer(command, "250 ok")
		}
	}
}

func (s *Server) extensions(state session) string {
	text := "250-mail.test\r\n"
	if s.cfg.TLS != nil && !state.secure {
		text += "250-STARTTLS\r\n"
	}
	if s.cfg.Password != "" {
		text += "250-AUTH " + cmp.Or(s.cfg.Logins, "PLAIN") + "\r\n"
	}
	return fmt.Sprint(text, "250 8BITMIME")
}
