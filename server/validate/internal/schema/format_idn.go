package schema

import (
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// isIDNHostname accepts the names of RFC 5890. Package idna checks characters, hyphens, text direction and
// joiners. This file checks the other contextual rules and the exceptions.
func isIDNHostname(text []byte) bool {
	profile := idna.New(
		idna.ValidateLabels(true), idna.CheckHyphens(true), idna.CheckJoiners(true), idna.BidiRule(),
		idna.StrictDomainName(true), idna.VerifyDNSLength(true),
	)
	name := strings.NewReplacer("\u3002", ".", "\uff0e", ".", "\uff61", ".").Replace(string(text))
	if _, err := profile.ToASCII(name); err != nil || strings.HasSuffix(name, ".") {
		return false
	}
	decoded, err := profile.ToUnicode(name)
	if err != nil {
		return false
	}
	for label := range strings.SplitSeq(decoded, ".") {
		if !isContextual([]rune(label)) {
			return false
		}
	}
	for label := range strings.SplitSeq(name, ".") {
		plain, err := profile.ToUnicode(label)
		if err != nil || !isCanonicalLabel(label, plain) {
			return false
		}
		// Characters that map to other characters are not allowed in a name.
		if mapped, err := idna.New(idna.MapForLookup()).ToUnicode(plain); err != nil || !strings.EqualFold(mapped, plain) {
			return false
		}
	}
	return true
}

// isCanonicalLabel reports whether a Punycode label is the encoding of its decoded characters.
func isCanonicalLabel(label, plain string) bool {
	if !strings.HasPrefix(strings.ToLower(label), "xn--") {
		return true
	}
	ascii, err := idna.Punycode.ToASCII(plain)
	return err == nil && strings.EqualFold(ascii, label) && plain != label
}

// isContextual checks the contextual rules of RFC 5892, appendix A, and its disallowed exceptions.
func isContextual(label []rune) bool {
	var arabic, extended bool
	for i, r := range label {
		switch {
		case r == 0x640, r == 0x7fa, r == 0x302e, r == 0x302f, 0x3031 <= r && r <= 0x3035, r == 0x303b:
			return false
		case r == 0xb7: // middle dot
			if i == 0 || i+1 == len(label) || label[i-1] != 'l' || label[i+1] != 'l' {
				return false
			}
		case r == 0x375: // Greek keraia
			if i+1 == len(label) || !unicode.Is(unicode.Greek, label[i+1]) {
				return false
			}
		case r == 0x5f3, r == 0x5f4: // Hebrew geresh and gershayim
			if i == 0 || !unicode.Is(unicode.Hebrew, label[i-1]) {
				return false
			}
		case r == 0x30fb: // Katakana middle dot
			if !strings.ContainsFunc(string(label), isJapanese) {
				return false
			}
		case 0x660 <= r && r <= 0x669:
			arabic = true
		case 0x6f0 <= r && r <= 0x6f9:
			extended = true
		case !isNameRune(r):
			return false
		}
	}
	return !arabic || !extended
}

func isJapanese(r rune) bool {
	return r != 0x30fb && unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Han)
}

// isNameRune reports whether a character may be anywhere in a label (RFC 5892, section 2).
func isNameRune(r rune) bool {
	switch r {
	case '-', 0x200c, 0x200d, 0x6fd, 0x6fe, 0xf0b, 0x3007:
		return true
	}
	return r < unicode.MaxASCII && isLetter(byte(r)) || unicode.In(r, unicode.Ll, unicode.Lo, unicode.Lm, unicode.Mn, unicode.Mc, unicode.Nd)
}
