package sender_test

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

func isBlocked(err error) bool {
	var refused *sender.RefusedError
	return errors.As(err, &refused) && refused.Reason != ""
}

// blockedRanges are the ranges that are not public, with the adjacent addresses. An address is "" if the
// adjacent range is blocked too.
var blockedRanges = []struct{ network, before, after string }{
	{"0.0.0.0/8", "", "1.0.0.0"},
	{"10.0.0.0/8", "9.255.255.255", "11.0.0.0"},
	{"100.64.0.0/10", "100.63.255.255", "100.128.0.0"},
	{"127.0.0.0/8", "126.255.255.255", "128.0.0.0"},
	{"169.254.0.0/16", "169.253.255.255", "169.255.0.0"},
	{"172.16.0.0/12", "172.15.255.255", "172.32.0.0"},
	{"192.0.0.0/24", "191.255.255.255", "192.0.1.0"},
	{"192.0.2.0/24", "192.0.1.255", "192.0.3.0"},
	{"192.88.99.0/24", "192.88.98.255", "192.88.100.0"},
	{"192.168.0.0/16", "192.167.255.255", "192.169.0.0"},
	{"198.18.0.0/15", "198.17.255.255", "198.20.0.0"},
	{"198.51.100.0/24", "198.51.99.255", "198.51.101.0"},
	{"203.0.113.0/24", "203.0.112.255", "203.0.114.0"},
	{"224.0.0.0/4", "223.255.255.255", ""},
	{"240.0.0.0/4", "", ""},
	{"::1/128", "", ""},
	{"::/96", "", ""},
	{"::/3", "", "2000::"},
	{"64:ff9b::/96", "", ""},
	{"64:ff9b:1::/48", "", ""},
	{"100::/64", "", ""},
	{"2001::/32", "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ""},
	{"2001::/23", "", "2001:200::"},
	{"2001:db8::/32", "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::"},
	{"2002::/16", "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::"},
	{"3fff::/20", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::"},
	{"4000::/2", "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ""},
	{"5f00::/16", "", ""},
	{"8000::/1", "", ""},
	{"fc00::/7", "", ""},
	{"fe80::/10", "", ""},
	{"fec0::/10", "", ""},
	{"ff00::/8", "", ""},
}

// The first and the last address of each range that is not public are blocked, in a URL and when dialed. The
// adjacent addresses are not.
func TestGuard_blocksRangesThatAreNotPublic(t *testing.T) {
	t.Parallel()
	s := newSender(t, sender.Config{AllowNetworks: networks()})
	check := func(addr netip.Addr, want bool) {
		forms := []netip.Addr{addr}
		if addr.Is4() {
			forms = append(forms, netip.AddrFrom16(addr.As16())) // mapped into IPv6
		}
		for _, form := range forms {
			dialed := netip.AddrPortFrom(form, 443).String()
			for _, scheme := range []string{"http://", "https://"} {
				raw := scheme + dialed + "/hook"
				if _, err := s.CanonicalURL(raw); (err == nil) != want || err != nil && !isBlocked(err) {
					t.Errorf("CanonicalURL(%q) = %v, want allowed %t", raw, err, want)
				}
			}
			if err := s.Dial(dialed); (err == nil) != want {
				t.Errorf("dial %s = %v, want allowed %t", dialed, err, want)
			}
		}
	}
	for _, r := range blockedRanges {
		network := netip.MustParsePrefix(r.network)
		check(network.Addr(), false)
		check(last(network), false)
		for _, neighbour := range []string{r.before, r.after} {
			if neighbour != "" {
				check(netip.MustParseAddr(neighbour), true)
			}
		}
	}
	// An address that is invalid or has a zone is never dialed.
	for _, address := range []string{"", "93.184.216.34", "example.com:443", "[fe80::1%eth0]:443", "[::1%lo]:443", "[fd00::1%eth0]:443", "/run/hook.sock"} {
		if err := s.Dial(address); err == nil {
			t.Errorf("%q is dialed", address)
		}
	}
}

func isBlockedByList(addr netip.Addr) bool {
	for _, r := range blockedRanges {
		if netip.MustParsePrefix(r.network).Contains(addr) {
			return true
		}
	}
	return false
}

func last(network netip.Prefix) netip.Addr {
	bytes := network.Addr().AsSlice()
	for i := network.Bits(); i < len(bytes)*8; i++ {
		bytes[i/8] |= 0x80 >> (i % 8)
	}
	addr, _ := netip.AddrFromSlice(bytes)
	return addr
}

// No notation of a private address passes the guard.
func TestGuard_blocksAllNotationsOfAnAddress(t *testing.T) {
	t.Parallel()
	s := newSender(t, sender.Config{AllowNetworks: networks()})
	for _, r := range blockedRanges {
		network := netip.MustParsePrefix(r.network)
		for _, addr := range []netip.Addr{network.Addr(), last(network)} {
			for name, host := range disguises(addr) {
				for _, raw := range []string{"http://" + host + "/", "https://" + host + ":8443/hook?a=b"} {
					if _, err := s.CanonicalURL(raw); !isBlocked(err) {
						t.Errorf("%s, %s: CanonicalURL(%q) = %v, want refused", r.network, name, raw, err)
					}
				}
			}
		}
	}
}

// disguises returns notations of an address as the host of a URL.
func disguises(addr netip.Addr) map[string]string {
	if addr.Is6() {
		full := addr.StringExpanded()
		return map[string]string{
			"literal": "[" + addr.String() + "]", "expanded": "[" + full + "]", "upper case": "[" + strings.ToUpper(full) + "]",
			"zone": "[" + addr.String() + "%25eth0]", "bare zone": "[" + addr.String() + "%eth0]",
			"trailing dot": "[" + addr.String() + "].", "dot inside": "[" + addr.String() + ".]", "no brackets": addr.String(),
		}
	}
	b := addr.As4()
	whole := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	each := func(format string) string { return fmt.Sprintf(format, b[0], b[1], b[2], b[3]) }
	mapped := fmt.Sprintf("::ffff:%02x%02x:%02x%02x", b[0], b[1], b[2], b[3])
	forms := map[string]string{
		"literal": addr.String(), "decimal": fmt.Sprint(whole), "octal": fmt.Sprintf("0%o", whole), "hex": fmt.Sprintf("0x%x", whole),
		"octal parts": each("0%o.0%o.0%o.0%o"), "long octal parts": each("%04o.%04o.%04o.%04o"), "hex parts": each("0x%x.0x%x.0x%x.0x%x"),
		"padded": each("%03d.%03d.%03d.%03d"), "two parts": fmt.Sprintf("%d.%d", b[0], whole&0xffffff),
		"three parts": fmt.Sprintf("%d.%d.%d", b[0], b[1], whole&0xffff), "mixed parts": each("%d.0x%x.%#o.%d"),
		"zone": addr.String() + "%25eth0", "escaped": strings.ReplaceAll(addr.String(), ".", "%2e"),
		"full width": strings.ReplaceAll(addr.String(), ".", "\u3002"),
		"mapped":     "[" + mapped + "]", "mapped, dotted": "[::ffff:" + addr.String() + "]", "mapped, zone": "[" + mapped + "%25eth0]",
		"mapped, expanded": "[" + netip.AddrFrom16(addr.As16()).StringExpanded() + "]",
		"compatible":       "[::" + addr.String() + "]", "NAT64": "[64:ff9b::" + addr.String() + "]",
		"6to4": fmt.Sprintf("[2002:%02x%02x:%02x%02x::1]", b[0], b[1], b[2], b[3]),
	}
	for name, host := range maps.Clone(forms) {
		forms[name+", trailing dot"] = host + "."
	}
	return forms
}

func TestCanonicalURL_returnsCanonicalURLs(t *testing.T) {
	t.Parallel()
	long := "https://example.com/" + strings.Repeat("a", 2048-len("https://example.com/"))
	tests := []struct{ raw, want string }{ // want is the URL of an attempt, or "" if blocked
		{"HTTPS://EXAMPLE.com.:0443/a%2Fb", "https://example.com/a%2Fb"},
		{"https://example.com:80/", "https://example.com:80/"},
		{"https://ＥＸＡＭＰＬＥ.com/", "https://example.com/"},
		{"https://example.com/#part", "https://example.com/"},
		{"https://bücher.example/", "https://xn--bcher-kva.example/"},
		{"https://93.184.216.34./", "https://93.184.216.34/"},
		{"https://[2606:2800:0220:0001:0:0:0:1]:8443/", "https://[2606:2800:220:1::1]:8443/"},
		{"https://[::ffff:93.184.216.34]/", "https://93.184.216.34/"},
		{"https://example.com/\xff", "https://example.com/%FF"},
		{"https://intranet/", "https://intranet/"}, // checked when dialed
		{"https://127.0.0.1.example.com/", "https://127.0.0.1.example.com/"},
		{"https://0x.example/", "https://0x.example/"},
		{long, long},

		{"https://example.com/" + strings.Repeat("./", 1024), ""},
		{long[:2046] + "é", ""},
		{"https://user@example.com/", ""},
		{"https://example.com:http/", ""},
		{"https://a%ff.example/", ""},
		{"https://example.com\\@127.0.0.1/", ""},
		{"https://under_score.example/", ""},
		{"https://../", ""},
		{"https://" + strings.Repeat("a", 64) + ".example/", ""},
		{"https://%31%32%37.0.0.1/", ""},

		// loopback in notations that few programs read
		{"https://127.0.0.1../", ""},
		{"https://127.0x1/", ""},
		{"https://0x/", ""},
		{"https://1.2.3.4.5/", ""},
		{"https://256.1.1.1/", ""},
		{"https://１２７.０.０.１/", ""},
		{"https://①②⑦.0.0.1/", ""},
		{"https://127.0.0.1\u00ad/", ""},
		{"https://localhost/", ""},
		{"https://hook.localhost/", ""},
		{"https://ｌocalhost/", ""},
	}
	s := newSender(t, sender.Config{AllowNetworks: networks()})
	for _, tt := range tests {
		got, err := s.CanonicalURL(tt.raw)
		if got != tt.want || (err == nil) != (tt.want != "") || err != nil && !isBlocked(err) {
			t.Errorf("%q is %q, %v, want %q", tt.raw, got, err, tt.want)
		}
	}
}

// AllowNetworks allows a range that is blocked by default, and nothing else.
func TestCanonicalURL_allowsConfiguredNetworks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		network          string
		allowed, refused []string
	}{
		{
			"127.0.0.0/8",
			[]string{"127.0.0.1", "[::ffff:127.9.9.9]", "localhost", "hook.localhost.", "8.8.8.8"},
			[]string{"[::1]", "10.0.0.1", "127.1", "2130706433"},
		},
		{"::1/128", []string{"[::1]", "localhost"}, []string{"127.0.0.1", "[::2]", "[::1%25lo]"}},
		{"10.1.2.3/16", []string{"10.1.0.0", "10.1.255.255"}, []string{"10.2.0.0", "localhost"}},
		{"fe80::/10", []string{"[fe80::1]"}, []string{"[fec0::1]"}},
	}
	for _, tt := range tests {
		s := harness.Try(sender.New(sender.Config{AllowNetworks: networks(tt.network)}))(t)
		for _, host := range tt.allowed {
			if _, err := s.CanonicalURL("https://" + host + "/"); err != nil {
				t.Errorf("%s: %s: %v", tt.network, host, err)
			}
			if _, err := s.CanonicalURL("http://" + host + "/"); !isBlocked(err) {
				t.Errorf("http by default: %v, want refused", err)
			}
		}
		for _, host := range tt.refused {
			if _, err := s.CanonicalURL("https://" + host + "/"); !isBlocked(err) {
				t.Errorf("%s: %s: %v, want refused", tt.network, host, err)
			}
		}
	}
}

// No error contains any part of the URL.
func TestCanonicalURL_errorsDoNotContainTheURL(t *testing.T) {
	t.Parallel()
	s := newSender(t, sender.Config{AllowNetworks: networks()})
	for _, format := range []string{"https://%s@example.com/", "https://10.0.0.1/?%s", "https://%s_/", "ftp://%s/", "https://x:1%sz/", "%s\x7f"} {
		_, err := s.CanonicalURL(fmt.Sprintf(format, "topsecret"))
		if !isBlocked(err) || strings.Contains(fmt.Sprintf("%v %+v", err, err), "topsecret") {
			t.Errorf("%q: %v", format, err)
		}
	}
}

// An accepted URL does not change if it is checked again. If its host is an address, or ends in a number as all
// notations of addresses do that C libraries accept, it is a public address.
func FuzzCanonicalURL(f *testing.F) {
	for _, seed := range []string{
		"https://example.com:443/a?b#c", "http://127.1", "https://[::ffff:127.0.0.1%25lo]:1/", "https://0x7f.1.",
		"https://①②⑦.0.0.1", "http://[64:ff9b::1]", "http://[2001:1::1]", "http://0300.0250.1", "https://8.8.8.8.", "https://user@host", "https://xn--bcher-kva.example./", "https://%e2%91%a0/",
	} {
		f.Add(seed)
	}
	s, number := newSender(f, sender.Config{AllowNetworks: networks()}), regexp.MustCompile(`(^|\.)([0-9]+|0[xX][0-9a-fA-F]*)\.?$`)
	f.Fuzz(func(t *testing.T, raw string) {
		canonical, err := s.CanonicalURL(raw)
		if err != nil {
			if !isBlocked(err) {
				t.Errorf("%q: %v", raw, err)
			}
			return
		}
		u, err := url.Parse(canonical)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			t.Fatalf("%q became %q: %v", raw, canonical, err)
		}
		addr, err := netip.ParseAddr(u.Hostname())
		switch {
		case err != nil && number.MatchString(u.Hostname()), addr.Zone() != "" || err == nil && isBlockedByList(addr.Unmap()):
			t.Errorf("%q leads to %s", raw, u.Hostname())
		case err == nil && s.Dial(netip.AddrPortFrom(addr, 443).String()) != nil:
			t.Errorf("%q is accepted and not dialed", raw)
		}
		if again, err := s.CanonicalURL(canonical); err != nil || again != canonical {
			t.Errorf("%q became %q, then %q, %v", raw, canonical, again, err)
		}
	})
}
