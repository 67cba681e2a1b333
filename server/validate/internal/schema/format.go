package schema

import (
	"bytes"
	"encoding/base64"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// format is a rule for the text of a scalar.
type format struct {
	types  Kinds // types that the format applies to
	check  func([]byte) bool
	detail string
}

// isBinary reports whether the format allows any bytes.
func (f *format) isBinary() bool { return f != nil && f.types == KindString && f.detail == "" }

// formats returns the formats of the package by name.
func formats() map[string]*format {
	anything := func([]byte) bool { return true }
	all := map[string]*format{
		"uuid":                  {KindString, isUUID, "must be a UUID"},
		"date-time":             {KindString, isDateTime, "must be a date and time of RFC 3339"},
		"date":                  {KindString, isDate, "must be a date of RFC 3339"},
		"time":                  {KindString, isTime, "must be a time with an offset of RFC 3339"},
		"duration":              {KindString, hasGrammar(duration), "must be a duration of ISO 8601"},
		"email":                 {KindString, isEmail, "must be an email address"},
		"idn-email":             {KindString, isIDNEmail, "must be an internationalized email address"},
		"hostname":              {KindString, isHostname, "must be a host name"},
		"idn-hostname":          {KindString, isIDNHostname, "must be an internationalized host name"},
		"ipv4":                  {KindString, isIPv4, "must be an IPv4 address"},
		"ipv6":                  {KindString, isIPv6, "must be an IPv6 address"},
		"uri":                   {KindString, uriSyntax{}.matches, "must be an absolute URI"},
		"uri-reference":         {KindString, uriSyntax{relative: true}.matches, "must be a URI reference"},
		"iri":                   {KindString, uriSyntax{international: true}.matches, "must be an absolute IRI"},
		"iri-reference":         {KindString, uriSyntax{relative: true, international: true}.matches, "must be an IRI reference"},
		"uri-template":          {KindString, hasGrammar(uriTemplate), "must be a URI template of RFC 6570"},
		"json-pointer":          {KindString, hasGrammar(jsonPointer), "must be a JSON pointer"},
		"relative-json-pointer": {KindString, hasGrammar(relativeJSONPointer), "must be a relative JSON pointer"},
		"regex":                 {KindString, isRegex, "must be a regular expression of ECMA-262"},
		"byte":                  {KindString, isBase64, "must be base64"},
		"base64url":             {KindString, isBase64URL, "must be base64url"},
		"decimal":               {KindString, isDecimal, "must be a decimal number"},
		"http-date":             {KindString, isHTTPDate, "must be a date of HTTP, RFC 9110"},
		"unixtime":              {KindNumber, fitsFloat(64), "must be a Unix time"},
		"float":                 {KindNumber, fitsFloat(32), "must fit a 32 bit floating-point number"},
		"double":                {KindNumber, fitsFloat(64), "must fit a 64 bit floating-point number"},
		"binary":                {KindString, anything, ""}, // in a body or part whose content is not checked
	}
	for _, name := range []string{"commonmark", "html", "password"} { // hints for user interfaces only
		all[name] = &format{KindString, anything, "must be text"}
	}
	for _, size := range []int{8, 16, 32, 64} {
		bits := strconv.Itoa(size)
		all["int"+bits] = &format{KindInteger, fits(strconv.ParseInt, size), "must fit " + bits + " bits"}
		all["uint"+bits] = &format{KindInteger, fits(strconv.ParseUint, size), "must fit " + bits + " bits without a sign"}
	}
	return all
}

// fits returns a check for integers of a size in bits. Like encoding/json, ParseUint refuses -0.
func fits[N any](parse func(text string, base, size int) (N, error), size int) func([]byte) bool {
	return func(text []byte) bool {
		_, err := parse(string(text), 10, size)
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
	if len(text) != 36 { // package uuid accepts other forms, too
		return false
	}
	_, err := uuid.ParseBytes(text)
	return err == nil
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

// format compiles the format of a schema. Numbers must fit their Go type even without a format.
func (c *Compiler) format(n *Node, name *document.Node) {
	if n.types&KindNumber != 0 {
		n.number = c.formats["double"]
	} else if n.types&KindInteger != 0 {
		n.number = c.formats["int64"]
	}
	if name == nil {
		return
	}
	switch f := c.formats[name.Text]; { // a format constrains the values of its own type only
	case f == nil:
		c.Unsupported(name, "is a format that is not known: "+name.Text)
	case f.types == KindString && n.allows(KindString):
		n.format = f
	case f.types == KindInteger && n.allows(KindInteger|KindNumber), f.types == KindNumber && n.allows(KindNumber):
		n.number = f
	}
}
