package systemd

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// Listen returns the socket of an address. If only others have the port, that is an error, because it is in use.
func TestSockets_Listen_usesTheSocketOfTheAddress(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ given, wanted, err string }{
		{"127.0.0.1", "127.0.0.1", ""},
		{"0.0.0.0", "", ""},
		{"0.0.0.0", "0.0.0.0", ""},
		{"0.0.0.0", "127.0.0.1", "set ListenStream"},
		{"127.0.0.1", "0.0.0.0", "set ListenStream"},
	} {
		given := harness.Try(new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(test.given, "0")))(t)
		local := harness.Try(new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(t.TempDir(), "socket")))(t)
		defer func() { _, _ = given.Close(), local.Close() }()
		s := &Sockets{unused: []net.Listener{local, given}}
		_, port, err := net.SplitHostPort(s.Addr())
		harness.Check(t, err)
		got, err := s.Listen(t.Context(), net.JoinHostPort(test.wanted, port))
		if test.err == "" && (err != nil || got != given) || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%+v: %v, %v", test, got, err)
		}
	}
	first := harness.Try((&Sockets{}).Listen(t.Context(), "127.0.0.1:0"))(t)
	second := harness.Try((&Sockets{}).Listen(t.Context(), strings.Replace(first.Addr().String(), "0.1:", "0.2:", 1)))(t)
	defer func() { _, _ = first.Close(), second.Close() }()
	if got, err := (&Sockets{unused: []net.Listener{first, second}}).Listen(t.Context(), second.Addr().String()); got != second {
		t.Errorf("the second socket with a port: %v, %v", got, err)
	}
}
