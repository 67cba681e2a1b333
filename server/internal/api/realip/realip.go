// Package realip determines the address of a client behind proxies.
package realip

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

const header = "X-Forwarded-For"

// Proxies are the networks of trusted proxies. Only their X-Forwarded-For headers are used.
type Proxies []netip.Prefix

// Contains reports whether address belongs to a trusted proxy.
func (p Proxies) Contains(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(address) })
}

// Client returns the address of the client, given the address of the peer and the values of X-Forwarded-For.
// It is the rightmost address that is not a trusted proxy, because clients can forge everything to the left
// of it. If peer is not trusted, Client returns peer. If the next value is not an address, Client returns the
// last trusted proxy.
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

// parse parses an address. Some proxies append the port.
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

// Handler sets the RemoteAddr of requests from trusted proxies to the address of the client, with port 0,
// because the port is unknown.
func (p Proxies) Handler(next http.Handler) http.Handler {
	if len(p) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peer, err := netip.ParseAddrPort(r.RemoteAddr)
		if values := r.Header.Values(header); err == nil && len(values) > 0 && p.Contains(peer.Addr()) {
			r = r.WithContext(r.Context()) // copies the request
			r.RemoteAddr = netip.AddrPortFrom(p.Client(peer.Addr(), values), 0).String()
		}
		next.ServeHTTP(w, r)
	})
}
