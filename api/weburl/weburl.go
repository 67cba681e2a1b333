// Package weburl writes http and https URLs in the form of the WHATWG URL standard, in which browsers send them. A URL in
// this form can be sent as it is.
package weburl

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// The errors of [Parse]. Their texts complete a sentence that begins with the name of the URL, and never contain the URL.
var (
	ErrInvalid = errors.New("must be a valid URL")
	ErrScheme  = errors.New("must be an absolute http or https URL")
	ErrHost    = errors.New("must have a valid host name")
	ErrPort    = errors.New("must have a port between 1 and 65535")
)

// hosts maps names as browsers do, which accept underscores.
//
//nolint:gochecknoglobals // a table
var hosts = idna.New(idna.MapForLookup(), idna.StrictDomainName(false), idna.BidiRule())

// Parse parses an absolute http or https URL and writes it in the form of the standard: the host is lower-case ASCII, the
// default port and dot segments are removed, an empty path is "/", and bytes that must not be sent as they are in a path or
// query are percent-encoded. What is encoded stays as it is. Parse removes the fragment, which is never sent.
//
// Parse is stricter than the standard: it refuses control characters and port 0, a path with a percent sign that encodes
// nothing, and a backslash before the path. It also encodes a vertical bar in a path.
func Parse(raw string) (*url.URL, error) {
	u, err := parse(strings.Trim(raw, " \t\r\n"))
	switch {
	case !strings.Contains(raw, "://"):
		return nil, ErrScheme
	case err != nil:
		return nil, ErrInvalid
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return nil, ErrScheme
	}
	host, port := u.Hostname(), u.Port()
	if strings.Contains(host, ":") {
		host = "[" + strings.ToLower(host) + "]"
	} else {
		valid := utf8.ValidString(host)
		if host, err = hosts.ToASCII(host); err != nil || host == "" || !valid {
			return nil, ErrHost
		}
	}
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

// Resolve resolves the URL in a Location header, which may be relative to base. Its result may have any scheme and host.
func Resolve(base *url.URL, reference string) (*url.URL, error) {
	u, err := parse(reference)
	if err != nil {
		return nil, ErrInvalid
	}
	return base.ResolveReference(u), nil
}

// parse encodes the path and the query of a URL or reference before it parses it. If net/url encoded them, it would also
// decode what is encoded.
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
	const digits = "0123456789ABCDEF"
	must := func(b byte) bool { return b == ' ' || b >= 0x80 || strings.IndexByte(set, b) >= 0 }
	for i := range len(text) {
		if !must(text[i]) {
			continue
		}
		escaped := append(make([]byte, 0, len(text)+16), text[:i]...)
		for _, b := range []byte(text[i:]) {
			if must(b) {
				escaped = append(escaped, '%', digits[b>>4], digits[b&15])
			} else {
				escaped = append(escaped, b)
			}
		}
		return string(escaped)
	}
	return text
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
