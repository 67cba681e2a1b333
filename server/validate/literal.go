package validate

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

var errLiteral = errors.New("is not a JSON value")

// appendCanonical appends the canonical text of a JSON value, which is the same for equal values: numbers are
// decimals and members are sorted by name. It reads the value from dec. It stops with errTooDeep at the first
// container that is nested deeper than depth.
func appendCanonical(dst []byte, dec *jsontext.Decoder, depth int) ([]byte, error) {
	kind := dec.PeekKind()
	if (kind == '{' || kind == '[') && dec.StackDepth() == depth {
		return dst, errTooDeep
	}
	switch kind {
	case '{':
		return appendCanonicalObject(dst, dec, depth)
	case '[':
		if _, err := dec.ReadToken(); err != nil {
			return dst, err
		}
		dst = append(dst, '[')
		for dec.PeekKind() != ']' {
			var err error
			if dst, err = appendCanonical(dst, dec, depth); err != nil {
				return dst, err
			}
			dst = append(dst, ',')
		}
		_, err := dec.ReadToken()
		return append(dst, ']'), err
	}
	value, err := dec.ReadValue()
	if err != nil {
		return dst, err
	}
	return appendScalar(dst, value.Kind(), unquoted(value)), nil
}

func appendCanonicalObject(dst []byte, dec *jsontext.Decoder, depth int) ([]byte, error) {
	if _, err := dec.ReadToken(); err != nil {
		return dst, err
	}
	var members []string
	for dec.PeekKind() != '}' {
		name, err := dec.ReadValue()
		if err != nil {
			return dst, err
		}
		canonical := append(appendScalar(nil, '"', unquoted(name)), ':')
		if canonical, err = appendCanonical(canonical, dec, depth); err != nil {
			return dst, err
		}
		members = append(members, string(canonical))
	}
	_, err := dec.ReadToken()
	return appendMembers(dst, members), err
}

// appendMembers appends the canonical text of an object, given those of its members.
func appendMembers(dst []byte, members []string) []byte {
	slices.Sort(members)
	dst = append(dst, '{')
	dst = append(dst, strings.Join(members, ",")...)
	return append(dst, '}')
}

// appendScalar appends the canonical text of a scalar. A string is given without quotes and escapes.
func appendScalar(dst []byte, kind jsontext.Kind, text []byte) []byte {
	switch kind {
	case '"':
		// The length separates the string from what follows it.
		dst = strconv.AppendInt(append(dst, '"'), int64(len(text)), 10)
		return append(append(dst, ':'), text...)
	case '0':
		var scratch [32]byte
		d, _ := parseDecimal(scratch[:], text)
		return d.appendTo(dst)
	}
	return append(dst, text...)
}

// unquoted returns the text of a string, and other scalars unchanged.
func unquoted(value jsontext.Value) []byte {
	if value.Kind() != '"' {
		return value
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return value[1 : len(value)-1]
	}
	text, _ := jsontext.AppendUnquote(nil, value)
	return text
}

// canonicalLiteral returns the canonical text of a value of the document, its JSON, and its depth of nesting.
func canonicalLiteral(value *document.Node) (canonical, text string, depth int, err error) {
	encoded, err := value.AppendJSON(nil)
	if err != nil {
		return "", "", 0, err
	}
	if !jsontext.Value(encoded).IsValid() {
		return "", "", 0, errLiteral
	}
	depth = depthOf(encoded)
	c, err := appendCanonical(nil, jsontext.NewDecoder(bytes.NewBuffer(encoded)), depth)
	return string(c), string(encoded), depth, err
}

// depthOf returns how deep the containers of a JSON value are nested.
func depthOf(value []byte) int {
	deepest, level := 0, 0
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '{', '[':
			level++
			deepest = max(deepest, level)
		case '}', ']':
			level--
		case '"':
			i = endOfString(value, i)
		}
	}
	return deepest
}
