package validate

import (
	"bytes"
	"encoding/base64"
	"math"
	"net/http"
	"strconv"
	"strings"
)

// format is a rule for the text of a scalar.
type format struct {
	types  kinds // types that the format applies to
	check  func([]byte) bool
	detail string
}

// isBinary reports whether the format allows any bytes.
func (f *format) isBinary() bool { return f != nil && f.types == kindString && f.detail == "" }

// formatOf returns the format with the given name. It returns false if the name is unknown.
func formatOf(name string) (*format, bool) {
	f := &format{types: kindString}
	switch name {
	case "uuid":
		f.check, f.detail = isUUID, "must be a UUID"
	case "date-time":
		f.check, f.detail = isDateTime, "must be a date and time of RFC 3339"
	case "date":
		f.check, f.detail = isDate, "must be a date of RFC 3339"
	case "time":
		f.check, f.detail = isTime, "must be a time with an offset of RFC 3339"
	case "duration":
		f.check, f.detail = isDuration, "must be a duration of ISO 8601"
	case "email":
		f.check, f.detail = isEmail, "must be an email address"
	case "idn-email":
		f.check, f.detail = isIDNEmail, "must be an internationalized email address"
	case "hostname":
		f.check, f.detail = isHostname, "must be a host name"
	case "idn-hostname":
		f.check, f.detail = isIDNHostname, "must be an internationalized host name"
	case "ipv4":
		f.check, f.detail = isIPv4, "must be an IPv4 address"
	case "ipv6":
		f.check, f.detail = isIPv6, "must be an IPv6 address"
	case "uri":
		f.check, f.detail = isURI, "must be an absolute URI"
	case "uri-reference":
		f.check, f.detail = isURIReference, "must be a URI reference"
	case "iri":
		f.check, f.detail = isIRI, "must be an absolute IRI"
	case "iri-reference":
		f.check, f.detail = isIRIReference, "must be an IRI reference"
	case "uri-template":
		f.check, f.detail = isURITemplate, "must be a URI template of RFC 6570"
	case "json-pointer":
		f.check, f.detail = isJSONPointer, "must be a JSON pointer"
	case "relative-json-pointer":
		f.check, f.detail = isRelativeJSONPointer, "must be a relative JSON pointer"
	case "regex":
		f.check, f.detail = isRegex, "must be a regular expression of ECMA-262"
	case "byte":
		f.check, f.detail = isBase64, "must be base64"
	case "base64url":
		f.check, f.detail = isBase64URL, "must be base64url"
	case "decimal":
		f.check, f.detail = isDecimal, "must be a decimal number"
	case "http-date":
		f.check, f.detail = isHTTPDate, "must be a date of HTTP, RFC 9110"
	case "unixtime":
		f.types, f.check, f.detail = kindNumber, fitsFloat(64), "must be a Unix time"
	case "binary": // any bytes, in a body or part whose content is not checked
		f.check = func([]byte) bool { return true }
	case "commonmark", "html", "password": // hints for user interfaces only
		f.check, f.detail = func([]byte) bool { return true }, "must be text"
	case "int8", "int16", "int32", "int64":
		size, _ := strconv.Atoi(name[len("int"):])
		f.types, f.check, f.detail = kindInteger, fitsInt(size), "must fit "+strconv.Itoa(size)+" bits"
	case "uint8", "uint16", "uint32", "uint64":
		size, _ := strconv.Atoi(name[len("uint"):])
		f.types, f.check, f.detail = kindInteger, fitsUint(size), "must fit "+strconv.Itoa(size)+" bits without a sign"
	case "float":
		f.types, f.check, f.detail = kindNumber, fitsFloat(32), "must fit a 32 bit floating-point number"
	case "double":
		f.types, f.check, f.detail = kindNumber, fitsFloat(64), "must fit a 64 bit floating-point number"
	default:
		return nil, false
	}
	return f, true
}

// customFormat returns a format of [Config.Formats].
func customFormat(name string, check func(string) bool) *format {
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

func fitsUint(size int) func([]byte) bool {
	return func(text []byte) bool {
		_, err := strconv.ParseUint(string(text), 10, size)
		return err == nil // like encoding/json, it refuses -0
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

// isBase64 accepts base64 on one line, as encoding/json decodes it to bytes.
func isBase64(text []byte) bool {
	if bytes.ContainsAny(text, "\r\n") {
		return false
	}
	_, err := base64.StdEncoding.AppendDecode(nil, text)
	return err == nil
}

func isBase64URL(text []byte) bool {
	_, err := base64.RawURLEncoding.AppendDecode(nil, bytes.TrimRight(text, "="))
	return err == nil && !bytes.ContainsAny(text, "\r\n")
}

func isDecimal(text []byte) bool { return len(text) > 0 && scanNumber(text, 0) == len(text) }

func isHTTPDate(text []byte) bool {
	_, err := http.ParseTime(string(text))
	return err == nil
}

// consistsOf reports whether text consists only of ASCII letters, digits and the bytes in others.
func consistsOf(text []byte, others string) bool {
	for _, b := range text {
		if !isLetter(b) && (b < '0' || b > '9') && strings.IndexByte(others, b) < 0 {
			return false
		}
	}
	return true
}

// consistsOfEscaped is like consistsOf, but also accepts percent-encoded bytes.
func consistsOfEscaped(text []byte, others string) bool {
	for {
		percent := bytes.IndexByte(text, '%')
		if percent < 0 {
			return consistsOf(text, others)
		}
		if len(text) < percent+3 || !isHex(text[percent+1]) || !isHex(text[percent+2]) ||
			!consistsOf(text[:percent], others) {
			return false
		}
		text = text[percent+3:]
	}
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

func isHex(b byte) bool { return '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'f' }
