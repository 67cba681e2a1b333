// Package weburl writes http and https URLs in the form of the WHATWG URL standard, in which browsers send them. A URL
// in this form can be sent as it is.
package weburl

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// The errors of [Parse]. Their texts complete a sentence that begins with the name of the URL, and never contain the
// URL.
var (
	ErrInvalid = errors.New("must be a valid URL")
	ErrScheme  = errors.New("must be an absolute http or https URL")
	ErrUser    = errors.New("must not hold a user name or password")
	ErrHost    = errors.New("must have a valid host name or address")
	ErrPort    = errors.New("must have a port between 1 and 65535")
)

// hosts maps names as browsers do, which accept underscores.
//
//nolint:gochecknoglobals // a table
var hosts = idna.New(idna.MapForLookup(), idna.StrictDomainName(false), idna.BidiRule())

// Parse parses an absolute http or https URL and writes it in the form of the standard: the host is lower-case ASCII,
// an address of IPv6 is compressed, the default port and dot segments are removed, an empty path is "/", and bytes that
// must not be sent as they are in a path or query are percent-encoded. What is encoded stays as it is. Parse removes
// the fragment, which is never sent.
//
// Parse is stricter than the standard: it refuses user names and passwords, addresses of IPv4 in other forms than four
// decimal numbers, names that are percent-encoded or that IDNA refuses, such as one that begins with a hyphen, control
// characters and port 0, a path with a percent sign that encodes nothing, and a backslash before the path. It removes a
// dot at the end of the host, writes an address of IPv4 that is mapped into IPv6 as IPv4, and also encodes a vertical
// bar in a path.
func Parse(raw string) (*url.URL, error) {
	u, err := parse(strings.Trim(raw, " \t\r\n"))
	switch {
	case !strings.HasPrefix(raw[max(strings.IndexByte(raw, ':'), 0):], "://"):
		return nil, ErrScheme
	case err != nil:
		return nil, ErrInvalid
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return nil, ErrScheme
	}
	if u.User != nil {
		return nil, ErrUser
	}
	host, err := canonicalHost(u.Hostname())
	if err != nil {
		return nil, err
	}
	port := u.Port()
	if port != "" {
		number, err := strconv.ParseUint(port, 10, 16)
		if err != nil || number == 0 {
			return nil, ErrPort
		}
		if u.Scheme == "http" && number != 80 || u.Scheme == "https" && number != 443 {
			host += ":" + strconv.FormatUint(number, 10)
		}
	}
	u.Host, u.Fragment, u.RawFragment = host, "", ""
	return u, nil
}

// canonicalHost returns a host as an ASCII name without a trailing dot, or as an address.
func canonicalHost(host string) (string, error) {
	if !strings.Contains(host, ":") {
		name, err := hosts.ToASCII(host)
		if err != nil || !utf8.ValidString(host) || strings.ContainsAny(name, `#%/:<>?@[\]^|`) {
			return "", ErrHost
		}
		host = strings.TrimSuffix(name, ".")
		if !isNumber(host[strings.LastIndexByte(host, '.')+1:]) {
			return host, nil
		}
	}
	addr, err := netip.ParseAddr(host)
	if err != nil || addr.Zone() != "" {
		return "", ErrHost
	}
	if addr = addr.Unmap(); addr.Is6() {
		return "[" + addr.String() + "]", nil
	}
	return addr.String(), nil
}

// isNumber reports whether a host with this last label is an IPv4 address. The standard and some resolvers accept
// octal, hexadecimal and short forms, and other resolvers take them for names.
func isNumber(label string) bool {
	if digits, hexadecimal := strings.CutPrefix(label, "0x"); hexadecimal {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// Resolve resolves the URL in a Location header, which may be relative to base. Its result may have any scheme and
// host.
func Resolve(base *url.URL, reference string) (*url.URL, error) {
	u, err := parse(reference)
	if err != nil {
		return nil, ErrInvalid
	}
	return base.ResolveReference(u), nil
}

// parse encodes the path and the query of a URL or reference before it parses it. If net/url encoded them, it would
// also decode what is encoded.
func parse(raw string) (*url.URL, error) {
	raw, _, _ = strings.Cut(raw, "#")
	raw, query, hasQuery := strings.Cut(raw, "?")
	before, path := "", raw
	if scheme, rest, absolute := strings.Cut(raw, "//"); absolute && (scheme == "" || strings.IndexAny(scheme, ":/") == len(scheme)-1) {
		end := strings.IndexByte(rest, '/')
		if end < 0 {
			rest, end = rest+"/", len(rest)
		}
		before, path = scheme+"//"+rest[:end], rest[end:]
	}
	path = strings.ReplaceAll(path, `\`, "/")
	if before != "" {
		path = withoutDots(path)
	}
	raw = before + escape(path, "\"<>^`{|}")
	if hasQuery {
		raw += "?" + escape(query, `"<>'`)
	}
	return url.Parse(raw)
}

// escape percent-encodes spaces, the bytes in set, and those that are not ASCII.
func escape(text, set string) string {
	escaped := make([]byte, 0, len(text))
	for _, b := range []byte(text) {
		if b == ' ' || b >= 0x80 || strings.IndexByte(set, b) >= 0 {
			escaped = fmt.Appendf(escaped, "%%%02X", b)
		} else {
			escaped = append(escaped, b)
		}
	}
	return string(escaped)
}

// withoutDots resolves the segments of an absolute path that name the same or the parent directory.
func withoutDots(path string) string {
	if !strings.Contains(path, "/.") && !strings.Contains(path, "/%2") {
		return path
	}
	var kept []string
	segments := strings.Split(path[1:], "/")
	for i, segment := range segments {
		switch dots := strings.ReplaceAll(strings.ToLower(segment), "%2e", "."); {
		case dots != "." && dots != "..":
			kept = append(kept, segment)
			continue
		case dots == "..":
			kept = kept[:max(len(kept)-1, 0)]
		}
		if i == len(segments)-1 {
			kept = append(slices.Clip(kept), "")
		}
	}
	return "/" + strings.Join(kept, "/")
}
