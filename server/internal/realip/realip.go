// Package realip finds the address of a client behind proxies.
package realip

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

const header = "X-Forwarded-For"

// Proxies are the networks of proxies that are trusted to say whom they forward.
type Proxies []netip.Prefix

// Contains reports whether an address is that of a trusted proxy.
func (p Proxies) Contains(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(address) })
}

// Client returns the address of the client for whom peer has sent the values of X-Forwarded-For: the
// rightmost that is not a trusted proxy's, since whoever is left of that may have written anything. It
// is peer when peer is not trusted, and the last trusted proxy when that has written no address.
func (p Proxies) Client(peer netip.Addr, values []string) netip.Addr {
	client := peer.Unmap()
	for _, value := range slices.Backward(values) {
		for p.Contains(client) {
			comma := strings.LastIndexByte(value, ',')
			next, ok := parse(strings.Trim(value[comma+1:], " \t"))
			if !ok {
				return client
			}
			client = next
			if comma < 0 {
				break
			}
			value = value[:comma]
		}
	}
	return client
}

// parse reads an address. Some proxies add the port.
func parse(text string) (netip.Addr, bool) {
	address, err := netip.ParseAddr(text)
	if err != nil {
		with, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}, false
		}
		address = with.Addr()
	}
	return address.Unmap().WithZone(""), true
}

// Handler sets the RemoteAddr of requests that come from trusted proxies to that of their client,
// without its port, which is not known.
func (p Proxies) Handler(next http.Handler) http.Handler {
	if len(p) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peer, err := netip.ParseAddrPort(r.RemoteAddr)
		if values := r.Header.Values(header); err == nil && len(values) > 0 && p.Contains(peer.Addr()) {
			r = r.WithContext(r.Context()) // a copy
			r.RemoteAddr = netip.AddrPortFrom(p.Client(peer.Addr(), values), 0).String()
		}
		next.ServeHTTP(w, r)
	})
}
