package realip_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/api/realip"
)

var proxies = realip.Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:1::/48")}

func TestProxies_Client_returnsTheRightmostUntrustedAddress(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, peer string
		values     []string
		want       string
	}{
		{"a stranger says nothing that counts", "192.0.2.1", []string{"198.51.100.7"}, "192.0.2.1"},
		{"a proxy says nothing", "10.0.0.1", nil, "10.0.0.1"},
		{"one proxy", "10.0.0.1", []string{"198.51.100.7"}, "198.51.100.7"},
		{"what the client wrote is left of it", "10.0.0.1", []string{"203.0.113.9, 198.51.100.7"}, "198.51.100.7"},
		{"two proxies", "10.0.0.1", []string{"203.0.113.9, 198.51.100.7,10.0.0.2"}, "198.51.100.7"},
		{"two proxies, a line each", "10.0.0.1", []string{"203.0.113.9, 198.51.100.7", "10.0.0.2"}, "198.51.100.7"},
		{"proxies alone", "10.0.0.1", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"IPv6", "2001:db8:1::1", []string{"2001:db8:2::7"}, "2001:db8:2::7"},
		{"IPv4 in IPv6", "::ffff:10.0.0.1", []string{"::ffff:198.51.100.7"}, "198.51.100.7"},
		{"with a port", "10.0.0.1", []string{"198.51.100.7:4711"}, "198.51.100.7"},
		{"IPv6 with a port", "10.0.0.1", []string{"[2001:db8:2::7]:4711"}, "2001:db8:2::7"},
		{"with a zone", "10.0.0.1", []string{"fe80::1%eth0"}, "fe80::1"},
		{"spaces", "10.0.0.1", []string{"\t 198.51.100.7 "}, "198.51.100.7"},
		{"garbage", "10.0.0.1", []string{"198.51.100.7, unknown"}, "10.0.0.1"},
		{"garbage behind a proxy", "10.0.0.1", []string{"198.51.100.7, _hidden, 10.0.0.2"}, "10.0.0.2"},
		{"an empty line", "10.0.0.1", []string{"198.51.100.7", ""}, "10.0.0.1"},
		{"an empty value", "10.0.0.1", []string{"198.51.100.7", ",10.0.0.2"}, "10.0.0.2"},
	} {
		if got := proxies.Client(netip.MustParseAddr(test.peer), test.values); got.String() != test.want {
			t.Errorf("%s: %v, want %s", test.name, got, test.want)
		}
	}
}

func TestProxies_Handler_setsRemoteAddr(t *testing.T) {
	t.Parallel()
	for peer, want := range map[string]string{
		"10.0.0.1:80": "198.51.100.7:0", "[::ffff:10.0.0.1]:80": "198.51.100.7:0", "192.0.2.1:80": "192.0.2.1:80", "@": "@",
	} {
		got := ""
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		request.RemoteAddr = peer
		request.Header.Set("X-Forwarded-For", "198.51.100.7")
		proxies.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr })).ServeHTTP(nil, request)
		if got != want || request.RemoteAddr != peer {
			t.Errorf("%s becomes %s, want %s", peer, got, want)
		}
	}
}

// Values that a client sends are to the left of the value that the proxy adds, and have no effect.
func FuzzProxies_clientsCannotForgeTheirAddress(f *testing.F) {
	f.Add("198.51.100.7", "")
	f.Add("203.0.113.9, 10.0.0.2", ",,")
	f.Add("[::1]:80, %", "\t")
	f.Add("10.0.0.1, 10.0.0.2:99", "fe80::1%10.0.0.1")
	f.Fuzz(func(t *testing.T, first, second string) {
		peer, client := netip.MustParseAddr("10.0.0.1"), "198.51.100.7"
		for _, values := range [][]string{{first, second, client}, {first, second + "," + client}, {first, second + ", " + client + ", 10.0.0.2"}} {
			if got := proxies.Client(peer, values); got.String() != client {
				t.Errorf("%q: %v", values, got)
			}
		}
		got := proxies.Client(peer, []string{first, second})
		if !got.IsValid() || got.Zone() != "" || got.Is4In6() {
			t.Errorf("%q: %v", []string{first, second}, got)
		}
		if got != peer && !strings.Contains(first+second, ".") && !strings.Contains(first+second, ":") {
			t.Errorf("%q: %v was written nowhere", []string{first, second}, got)
		}
	})
}
