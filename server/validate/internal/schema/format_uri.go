package schema

import (
	"bytes"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/decimal"
)

// uriSyntax is a variant of the grammar of RFC 3986, which also has relative references, or the characters of RFC 3987.
type uriSyntax struct{ relative, international bool }

const pathMarks = "-._~!$&'()*+,;=:@/"

func (u uriSyntax) matches(text []byte) bool {
	if u.international {
		text = asciiForm(text)
	}
	rest, fragment, _ := bytes.Cut(text, []byte{'#'})
	rest, query, _ := bytes.Cut(rest, []byte{'?'})
	if !consistsOfEscaped(fragment, pathMarks+"?") || !consistsOfEscaped(query, pathMarks+"?") {
		return false
	}
	scheme, path, ok := bytes.Cut(rest, []byte{':'})
	switch {
	case ok && len(scheme) > 0 && isLetter(scheme[0]) && consistsOf(scheme, "+-."):
		rest = path
	case !u.relative || ok && bytes.IndexByte(scheme, '/') < 0:
		return false
	}
	authority, ok := bytes.CutPrefix(rest, []byte("//"))
	if !ok {
		return consistsOfEscaped(rest, pathMarks)
	}
	slash := bytes.IndexByte(authority, '/')
	if slash < 0 {
		slash = len(authority)
	}
	return isAuthority(authority[:slash]) && consistsOfEscaped(authority[slash:], pathMarks)
}

// asciiForm replaces each character that only IRIs may have with a letter.
func asciiForm(text []byte) []byte {
	return bytes.Map(func(r rune) rune {
		switch {
		case r < 0xa0, r > 0xd7ff && r < 0xf900, r > 0xfdcf && r < 0xfdf0, r > 0xffef && r < 0x10000, r&0xfffe == 0xfffe,
			0xe0000 <= r && r < 0xe1000:
			return r
		}
		return 'x'
	}, text)
}

func isAuthority(text []byte) bool {
	const name = "-._~!$&'()*+,;="
	if at := bytes.IndexByte(text, '@'); at >= 0 {
		if !consistsOfEscaped(text[:at], name+":") {
			return false
		}
		text = text[at+1:]
	}
	host, port := text, []byte(nil)
	if end := bytes.LastIndexByte(text, ']'); end >= 0 {
		host, port = text[:end+1], text[end+1:]
		if inner := bytes.TrimPrefix(host[:end], []byte("[")); len(inner) == len(host)-1 || !isIPv6(inner) && !isIPvFuture(inner) {
			return false
		}
	} else {
		if colon := bytes.IndexByte(text, ':'); colon >= 0 {
			host, port = text[:colon], text[colon:]
		}
		if !consistsOfEscaped(host, name) {
			return false
		}
	}
	return len(port) == 0 || port[0] == ':' && decimal.LeadingDigits(port[1:]) == len(port)-1
}

// isIPvFuture accepts the IPvFuture addresses of RFC 3986.
func isIPvFuture(text []byte) bool {
	version, address, ok := bytes.Cut(text, []byte{'.'})
	return ok && len(version) > 1 && version[0]|0x20 == 'v' && len(bytes.Trim(version[1:], "0123456789abcdefABCDEF")) == 0 &&
		len(address) > 0 && consistsOf(address, "-._~!$&'()*+,;=:")
}
