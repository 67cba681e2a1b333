package schema

import (
	"bytes"
	"net/netip"
	"unicode"
)

// isEmail accepts the addresses of RFC 5321 without quotes, comments and address literals.
func isEmail(text []byte) bool { return isAddress(text, false, hasLabels) }

// isIDNEmail is isEmail with the characters of RFC 6531.
func isIDNEmail(text []byte) bool { return isAddress(text, true, isIDNHostname) }

func isAddress(text []byte, international bool, isDomain func([]byte) bool) bool {
	at := bytes.LastIndexByte(text, '@')
	if at < 1 || at > 64 || len(text) > 254 || !isDomain(text[at+1:]) {
		return false
	}
	mailbox := text[:at]
	if international {
		mailbox = bytes.Map(func(r rune) rune {
			if r > unicode.MaxASCII {
				return 'x'
			}
			return r
		}, mailbox)
	}
	for part := range bytes.SplitSeq(mailbox, []byte{'.'}) {
		if len(part) == 0 || !consistsOf(part, "!#$%&'*+-/=?^_`{|}~") {
			return false
		}
	}
	return true
}

// hasLabels reports whether text consists of labels of letters, digits and inner hyphens.
func hasLabels(text []byte) bool {
	for label := range bytes.SplitSeq(text, []byte{'.'}) {
		if len(label) == 0 || len(label) > 63 || !consistsOf(label, "-") || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
	}
	return true
}

// isHostname accepts the names of RFC 1123. Punycode labels must be valid.
func isHostname(text []byte) bool {
	if len(text) > 253 || !hasLabels(text) {
		return false
	}
	for label := range bytes.SplitSeq(text, []byte{'.'}) {
		if len(label) > 3 && label[2] == '-' && label[3] == '-' && !isIDNHostname(label) {
			return false
		}
	}
	return true
}

func isIPv4(text []byte) bool {
	ip, err := netip.ParseAddr(string(text))
	return err == nil && ip.Is4()
}

func isIPv6(text []byte) bool {
	ip, err := netip.ParseAddr(string(text))
	return err == nil && ip.Is6() && ip.Zone() == ""
}
