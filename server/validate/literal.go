package validate

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

var (
	errInexact = errors.New("has a number so long that the document loader may have rounded it")
	errLiteral = errors.New("is not a JSON value")
)

// appendCanonical writes the one text that all spellings of a JSON value share: numbers as
// decimals, members sorted by name. It reads the value from dec, and no further than to the first
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
	slices.Sort(members)
	dst = append(dst, '{')
	dst = append(dst, strings.Join(members, ",")...)
	_, err := dec.ReadToken()
	return append(dst, '}'), err
}

// appendScalar writes the canonical text of a scalar; a string is given without quotes and
// escapes.
func appendScalar(dst []byte, kind jsontext.Kind, text []byte) []byte {
	switch kind {
	case '"':
		// The length keeps what is in a string apart from what follows it.
		dst = strconv.AppendInt(append(dst, '"'), int64(len(text)), 10)
		return append(append(dst, ':'), text...)
	case '0':
		var scratch [32]byte
		d, _ := parseDecimal(scratch[:], text)
		return d.appendTo(dst)
	}
	return append(dst, text...)
}

// unquoted returns the text of a string, and any other scalar as it is.
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

// canonicalLiteral returns the canonical text of a value of the document, and its JSON.
func canonicalLiteral(value any) (canonical, text string, err error) {
	if !exact(value) {
		return "", "", errInexact
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return "", "", errLiteral
	}
	c, err := appendCanonical(nil, jsontext.NewDecoder(bytes.NewBuffer(encoded)), depthOf(value))
	if err != nil {
		return "", "", errLiteral
	}
	return string(c), string(encoded), nil
}

// exact reports whether every number in value is as it was written in the document.
func exact(value any) bool {
	switch v := value.(type) {
	case float64:
		d := decimalOf(v)
		return len(d.digits) <= 15 && math.Abs(v) < 1<<53
	case []any:
		return !slices.ContainsFunc(v, func(element any) bool { return !exact(element) })
	case map[string]any:
		for _, element := range v {
			if !exact(element) {
				return false
			}
		}
	}
	return true
}

// depthOf returns the levels of nesting of a value.
func depthOf(value any) int {
	depth := 0
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			depth = max(depth, depthOf(element))
		}
	case map[string]any:
		for _, element := range v {
			depth = max(depth, depthOf(element))
		}
	default:
		return 0
	}
	return depth + 1
}

// decimalOf returns the shortest decimal that stands for f.
func decimalOf(f float64) decimal {
	d, _ := parseDecimal(nil, strconv.AppendFloat(nil, f, 'g', -1, 64))
	return d
}
