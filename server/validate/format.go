package validate

import (
	"bytes"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// format is a rule for the text of a scalar.
type format struct {
	types  kinds // what it applies to
	check  func([]byte) bool
	detail string
}

// isBinary reports whether the format is that of any bytes.
func (f *format) isBinary() bool { return f != nil && f.types == kindString && f.detail == "" }

// formatOf returns the rule of a name. A format that every value of its type has may have no check.
func formatOf(name string) (*format, bool) {
	f := &format{types: kindString}
	switch name {
	case "uuid":
		f.check, f.detail = isUUID, "must be a UUID"
	case "date-time":
		f.check, f.detail = isDateTime, "must be a date and time of RFC 3339"
	case "date":
		f.check, f.detail = isDate, "must be a date of RFC 3339"
	case "email":
		f.check, f.detail = isEmail, "must be an email address"
	case "uri":
		f.check, f.detail = isURI, "must be an absolute URI"
	case "binary": // any bytes, in a body or a part that is not looked into
		f.check = func([]byte) bool { return true }
	case "int32":
		f.types, f.check, f.detail = kindInteger, fitsInt(32), "must fit 32 bits"
	case "int64":
		f.types, f.check, f.detail = kindInteger, fitsInt(64), "must fit 64 bits"
	case "float":
		f.types, f.check, f.detail = kindNumber, fitsFloat(32), "must fit a 32 bit floating-point number"
	case "double":
		f.types, f.check, f.detail = kindNumber, fitsFloat(64), "must fit a 64 bit floating-point number"
	default:
		return nil, false
	}
	return f, true
}

// ownFormat is a format of [Config.Formats].
func ownFormat(name string, check func(string) bool) *format {
	return &format{
		types:  kindString,
		check:  func(text []byte) bool { return check(string(text)) },
		detail: "must be of the format " + name,
	}
}

func fitsInt(size int) func([]byte) bool {
	return func(text []byte) bool {
		_, err := strconv.ParseInt(string(text), 10, size)
		return err == nil
	}
}

func fitsFloat(size int) func([]byte) bool {
	return func(text []byte) bool {
		f, err := strconv.ParseFloat(string(text), size)
		return err == nil && !math.IsInf(f, 0)
	}
}

func isUUID(text []byte) bool {
	if len(text) != 36 {
		return false
	}
	for i, b := range text {
		switch i {
		case 8, 13, 18, 23:
			if b != '-' {
				return false
			}
		default:
			if !isHex(b) {
				return false
			}
		}
	}
	return true
}

// isDateTime accepts what RFC 3339 allows and a time.Time can hold.
func isDateTime(text []byte) bool {
	const seconds = "0000-00-00T00:00:00"
	if len(text) <= len(seconds) || !isShaped(text[:len(seconds)], seconds) {
		return false
	}
	zone := text[len(seconds):]
	if zone[0] == '.' {
		zone = zone[1+leadingDigits(zone[1:]):]
	}
	if string(zone) != "Z" && !isOffset(zone) {
		return false
	}
	var t time.Time // knows the calendar
	return t.UnmarshalText(text) == nil
}

func isOffset(text []byte) bool {
	return (isShaped(text, "+00:00") || isShaped(text, "-00:00")) && string(text[1:3]) < "24" && text[4] < '6'
}

// isShaped reports whether text is shape with any digits in place of its zeros.
func isShaped(text []byte, shape string) bool {
	if len(text) != len(shape) {
		return false
	}
	for i, b := range text {
		if b != shape[i] && (shape[i] != '0' || b < '0' || b > '9') {
			return false
		}
	}
	return true
}

func isDate(text []byte) bool {
	const midnight = "T00:00:00Z"
	if len(text) != len(time.DateOnly) {
		return false
	}
	var buf [len(time.DateOnly) + len(midnight)]byte
	return isDateTime(append(append(buf[:0], text...), midnight...))
}

// isEmail accepts the addresses of RFC 5321 without quotes, comments and address literals.
func isEmail(text []byte) bool {
	at := bytes.LastIndexByte(text, '@')
	if at < 1 || at > 64 || len(text) > 254 {
		return false
	}
	for part := range bytes.SplitSeq(text[:at], []byte{'.'}) {
		if len(part) == 0 || !consists(part, "!#$%&'*+-/=?^_`{|}~") {
			return false
		}
	}
	for label := range bytes.SplitSeq(text[at+1:], []byte{'.'}) {
		if len(label) == 0 || len(label) > 63 || !consists(label, "-") || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
	}
	return true
}

// isURI accepts the URIs of RFC 3986 that have a scheme.
func isURI(text []byte) bool {
	scheme, rest, ok := bytes.Cut(text, []byte{':'})
	if !ok || len(scheme) == 0 || !isLetter(scheme[0]) || !consists(scheme, "+-.") {
		return false
	}
	rest, fragment, _ := bytes.Cut(rest, []byte{'#'})
	rest, query, _ := bytes.Cut(rest, []byte{'?'})
	const path = "-._~!$&'()*+,;=:@/"
	if !escaped(fragment, path+"?") || !escaped(query, path+"?") {
		return false
	}
	authority, ok := bytes.CutPrefix(rest, []byte("//"))
	if !ok {
		return escaped(rest, path)
	}
	slash := bytes.IndexByte(authority, '/')
	if slash < 0 {
		slash = len(authority)
	}
	return isAuthority(authority[:slash]) && escaped(authority[slash:], path)
}

func isAuthority(text []byte) bool {
	const name = "-._~!$&'()*+,;="
	if at := bytes.IndexByte(text, '@'); at >= 0 {
		if !escaped(text[:at], name+":") {
			return false
		}
		text = text[at+1:]
	}
	host, port := text, []byte(nil)
	if end := bytes.LastIndexByte(text, ']'); end >= 0 {
		host, port = text[:end+1], text[end+1:]
		ip, err := netip.ParseAddr(string(bytes.Trim(host, "[]")))
		if err != nil || !ip.Is6() || ip.Zone() != "" || host[0] != '[' {
			return false
		}
	} else {
		if colon := bytes.IndexByte(text, ':'); colon >= 0 {
			host, port = text[:colon], text[colon:]
		}
		if !escaped(host, name) {
			return false
		}
	}
	return len(port) == 0 || port[0] == ':' && leadingDigits(port[1:]) == len(port)-1
}

// consists reports whether text has only ASCII letters, digits and the other characters.
func consists(text []byte, others string) bool {
	for _, b := range text {
		if !isLetter(b) && (b < '0' || b > '9') && strings.IndexByte(others, b) < 0 {
			return false
		}
	}
	return true
}

// escaped is consists with percent-encoded bytes.
func escaped(text []byte, others string) bool {
	for {
		percent := bytes.IndexByte(text, '%')
		if percent < 0 {
			return consists(text, others)
		}
		if len(text) < percent+3 || !isHex(text[percent+1]) || !isHex(text[percent+2]) ||
			!consists(text[:percent], others) {
			return false
		}
		text = text[percent+3:]
	}
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

func isHex(b byte) bool { return '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'f' }
