package systemd

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// Listen returns the socket of an address. One that has the port and another address is an error, because the port is
// in use.
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
	other := harness.Try((&Sockets{}).Listen(t.Context(), "127.0.0.1:0"))(t)
	harness.Check(t, other.Close())
}
