package sender_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newSender returns a Sender that may reach 127.0.0.1 by http, changed by cfg.
func newSender(tb testing.TB, cfg sender.Config) *sender.Sender {
	tb.Helper()
	cfg.AllowHTTP = true
	if cfg.AllowNetworks == nil {
		cfg.AllowNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	}
	s, err := sender.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

func message(url string) sender.Message {
	return sender.Message{
		URL: url, ID: "evt_1", Sequence: 7,
		Body:    []byte(`{"event_type":"video.completed"}`),
		Secrets: []webhook.Secret{webhook.NewSecret()},
	}
}

func receiver(tb testing.TB, handler http.HandlerFunc) string {
	tb.Helper()
	server := httptest.NewServer(handler)
	tb.Cleanup(server.Close)
	return server.URL
}

// answers reads a request and answers it with the given bytes, then holds the
// connection until the sender closes it.
func answers(text string) func(net.Conn) {
	return func(conn net.Conn) {
		readRequest(bufio.NewReader(conn))
		_, _ = io.WriteString(conn, text)
		hold(conn)
	}
}

func readRequest(from *bufio.Reader) bool {
	request, err := http.ReadRequest(from)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, request.Body)
	return err == nil
}

// attemptAt makes one attempt on a fake clock, at a receiver behind a pipe.
func attemptAt(t *testing.T, serve func(net.Conn), cfg sender.Config, url string) (attempt sender.Attempt) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var served sync.WaitGroup
		s := newSender(t, cfg)
		s.DialWith(func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			served.Go(func() { serve(theirs); _ = theirs.Close() })
			return ours, nil
		})
		attempt = s.Send(t.Context(), message(url))
		s.Close()
		served.Wait()
	})
	return attempt
}

// hold keeps the connection until the sender closes it.
func hold(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// rawReceiver serves each connection with serve and returns its address.
func rawReceiver(tb testing.TB, serve func(net.Conn)) string {
	tb.Helper()
	return serveAt(tb, listen(tb, "127.0.0.1:0"), serve)
}

func listen(tb testing.TB, address string) net.Listener {
	tb.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		tb.Fatal(err)
	}
	return listener
}

func serveAt(tb testing.TB, listener net.Listener, serve func(net.Conn)) string {
	tb.Helper()
	var work sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			work.Go(func() {
				defer func() { _ = conn.Close() }()
				serve(conn)
			})
		}
	})
	tb.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for _, conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		work.Wait()
	})
	return listener.Addr().String()
}

// forbid fails the test when anything connects to listener.
func forbid(tb testing.TB, listener net.Listener) {
	tb.Helper()
	serveAt(tb, listener, func(conn net.Conn) {
		tb.Errorf("a connection reached %s", conn.LocalAddr())
	})
}

// resolver looks names up at a DNS server of its own. lookup gives the addresses of a
// name; nil means that there is no such name.
func resolver(tb testing.TB, lookup func(name string) []string) *net.Resolver {
	tb.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		packet := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(packet)
			if err != nil {
				return
			}
			if answer := dnsAnswer(packet[:n], lookup); answer != nil {
				_, _ = server.WriteTo(answer, from)
			}
		}
	})
	tb.Cleanup(func() { _ = server.Close(); work.Wait() })
	return &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
		},
	}
}

func dnsAnswer(packet []byte, lookup func(name string) []string) []byte {
	var query dnsmessage.Message
	if query.Unpack(packet) != nil || len(query.Questions) != 1 {
		return nil
	}
	question := query.Questions[0]
	answer := dnsmessage.Message{Questions: query.Questions}
	answer.ID, answer.Response, answer.RecursionAvailable = query.ID, true, true
	addresses := lookup(strings.TrimSuffix(question.Name.String(), "."))
	if addresses == nil {
		answer.RCode = dnsmessage.RCodeNameError
	}
	for _, address := range addresses {
		addr := netip.MustParseAddr(address)
		header := dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET}
		switch {
		case addr.Is4() && question.Type == dnsmessage.TypeA:
			answer.Answers = append(answer.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: addr.As4()}})
		case addr.Is6() && question.Type == dnsmessage.TypeAAAA:
			answer.Answers = append(answer.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}})
		}
	}
	packed, _ := answer.Pack()
	return packed
}

// always is a lookup that knows one name.
func always(name string, addresses ...string) func(string) []string {
	return func(asked string) []string {
		if asked != name {
			return nil
		}
		return addresses
	}
}
