package sender

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/net/idna"

	"github.com/avatarstudio/avatarstudio/api/runtime/weburl"
)

const maxURLLength = 2048

// blockedNetworks are the address ranges that are not public, besides those that [netip.Addr.IsGlobalUnicast]
// excludes. Addresses of IPv4 mapped into IPv6 are treated as IPv4. Only 2000::/3 of IPv6 is assigned for
// public use (RFC 4291, section 2.4), so everything else is blocked: loopback, NAT64, discard, unique local,
// link local and unassigned ranges. Within it, 2001::/23 is reserved for protocols such as Teredo (RFC 2928).
const blockedNetworks = `
	0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12
	192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15
	198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
	::/3 4000::/2 8000::/1 2001::/23 2001:db8::/32 2002::/16 3fff::/20`

// RefusedError is the error for a URL that the guard blocks. A name whose addresses it blocks fails like one that has
// none, with a [*net.DNSError].
type RefusedError struct {
	Reason string // one of a few fixed texts; safe to send to the user

	// NotPublic reports that the host is an address that is not public, or localhost.
	NotPublic bool
}

func (e *RefusedError) Error() string { return "webhook URL refused: " + e.Reason }

func refused(reason string) error { return &RefusedError{Reason: reason} }

var errTooLong = refused("must not be longer than 2048 bytes, encoded")

func notPublic() error {
	return &RefusedError{Reason: "must have a host that is a public address", NotPublic: true}
}

// errNotPublic is the error for dialing an address that is not public. It is that of a name without an address, so that
// users do not learn which names exist in a private network.
var errNotPublic = &net.DNSError{Err: "no public address", IsNotFound: true}

// guard restricts requests to public addresses.
type guard struct {
	allowHTTP    bool
	allow, block []netip.Prefix
	names        *idna.Profile
}

func newGuard(allowHTTP bool, allow []netip.Prefix) *guard {
	g := &guard{
		allowHTTP: allowHTTP,
		allow:     slices.Clone(allow),
		names:     idna.New(idna.MapForLookup(), idna.BidiRule(), idna.VerifyDNSLength(true)),
	}
	for network := range strings.FieldsSeq(blockedNetworks) {
		g.block = append(g.block, netip.MustParsePrefix(network))
	}
	return g
}

// permits reports whether requests may be sent to addr.
func (g *guard) permits(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	contains := func(network netip.Prefix) bool { return network.Contains(addr) }
	return slices.ContainsFunc(g.allow, contains) ||
		addr.IsGlobalUnicast() && !slices.ContainsFunc(g.block, contains)
}

// control checks the address of a connection immediately before it is dialed, after all name resolution. It
// is a [net.Dialer.ControlContext].
func (g *guard) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	if to, err := netip.ParseAddrPort(address); err != nil || !g.permits(to.Addr()) {
		return errNotPublic
	}
	return nil
}

// parse checks a URL and returns it in canonical form; see [Sender.CanonicalURL].
func (g *guard) parse(raw string) (*url.URL, error) {
	if len(raw) > maxURLLength {
		return nil, errTooLong
	}
	u, err := weburl.Parse(raw)
	switch {
	case err != nil:
		return nil, refused(err.Error())
	case u.Scheme == "http" && !g.allowHTTP:
		return nil, refused("must be https")
	}
	if err := g.host(u.Hostname()); err != nil {
		return nil, err
	}
	if len(u.String()) > maxURLLength {
		return nil, errTooLong
	}
	return u, nil
}

// host checks a canonical host. Names are not resolved, so only localhost is known not to be public.
func (g *guard) host(host string) error {
	if addr, err := netip.ParseAddr(host); err == nil {
		if !g.permits(addr) {
			return notPublic()
		}
		return nil
	}
	if _, err := g.names.ToASCII(host); err != nil {
		return refused(weburl.ErrHost.Error())
	}
	local := host == "localhost" || strings.HasSuffix(host, ".localhost")
	if local && !g.permits(netip.IPv6Loopback()) && !g.permits(netip.AddrFrom4([4]byte{127, 0, 0, 1})) {
		return notPublic()
	}
	return nil
}
