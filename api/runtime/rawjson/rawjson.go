// Package rawjson reads JSON objects member by member, for types that keep the members that they do not know. It is the
// opposite of package encode, and several times as fast as a map of encoding/json.
package rawjson

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// String returns the offset after the string that begins at start with a quote, or -1 if it has no end. It reports
// whether the text between the quotes is the string: valid UTF-8 without escapes and control characters.
func String(text []byte, start int) (end int, plain bool) {
	const (
		ones  = 0x0101010101010101
		highs = 0x80 * ones
	)
	i, stop := start+1, uint64(highs) // stop has the bits of bytes that are not ASCII, until the first one
	plain = true
	for {
		if i+8 <= len(text) {
			// Each byte below ends up with its high bit set if it is a quote, a backslash or a control character. Bytes
			// after the first of them may too.
			x := binary.LittleEndian.Uint64(text[i:])
			found := (((x^'"'*ones)-ones)|((x^'\\'*ones)-ones)|(x-' '*ones))&^x&highs | x&stop
			if found == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(found) / 8
		} else if i >= len(text) {
			return -1, false
		}
		switch c := text[i]; {
		case c == '"':
			return i + 1, plain && (stop != 0 || utf8.Valid(text[start+1:i]))
		case c == '\\':
			plain = false
			i += 2
			continue
		case c < ' ':
			plain = false
		case c >= utf8.RuneSelf:
			stop = 0
		}
		i++
	}
}

// Space returns the offset of the first byte from i on that is not white space.
func Space(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\r' || text[i] == '\t') {
		i++
	}
	return i
}

// Object returns the text after the opening brace of an object, for [Member], or the error of encoding/json if text is
// no object. The object is nil for null.
func Object(text []byte) (members []byte, err error) {
	if i := Space(text, 0); i < len(text) && text[i] == '{' {
		return text[i+1:], nil
	}
	return nil, json.Unmarshal(text, new(map[string]json.RawMessage))
}

// Member reads the next member of an object in valid JSON, after the opening brace or the member before it. It unquotes
// the name. If the JSON is invalid, the result is undefined, but Member does not panic.
func Member(text []byte) (name, value, rest []byte, ok bool) {
	text = separators(text)
	if len(text) == 0 || text[0] != '"' {
		return nil, nil, nil, false
	}
	end, plain := String(text, 0)
	if end < 0 {
		return nil, nil, nil, false
	}
	if name = text[1 : end-1]; !plain {
		var unquoted string
		if json.Unmarshal(text[:end], &unquoted) != nil {
			return nil, nil, nil, false
		}
		name = []byte(unquoted)
	}
	text = separators(text[end:])
	end = valueEnd(text)
	return name, text[:end], text[end:], true
}

// separators skips white space, commas and colons between names and values.
func separators(text []byte) []byte {
	for i, c := range text {
		switch c {
		case ' ', '\t', '\n', '\r', ',', ':':
		default:
			return text[i:]
		}
	}
	return nil
}

// valueEnd returns the length of the value at the start of text.
func valueEnd(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			end, _ := String(text, i)
			if end < 0 {
				return len(text)
			}
			if i = end - 1; depth == 0 {
				return end
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // the end of a number or word that ends the object
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ' ', '\t', '\n', '\r', ',':
			if depth == 0 {
				return i
			}
		}
	}
	return len(text)
}

// Decode decodes a member, like json.Unmarshal. A member that is missing, whose value is nil, changes nothing. Plain
// strings and booleans are the fastest. The error names the member.
func Decode(name string, value []byte, field any) error {
	if value == nil {
		return nil
	}
	if len(value) > 0 && value[0] == '"' {
		if end, plain := String(value, 0); plain && end == len(value) {
			text := value[1 : end-1]
			switch field := field.(type) {
			case *string:
				*field = string(text)
				return nil
			case **string:
				if *field == nil {
					*field = new(string)
				}
				**field = string(text)
				return nil
			}
		}
	}
	if field, ok := field.(*bool); ok && (string(value) == "true" || string(value) == "false") {
		*field = string(value) == "true"
		return nil
	}
	if err := json.Unmarshal(value, field); err != nil {
		return fmt.Errorf("error reading '%s': %w", name, err)
	}
	return nil
}

// DecodeOthers decodes the members that a type does not know.
func DecodeOthers[T any](members *map[string]T, unknown map[string]json.RawMessage) error {
	if raw, ok := any(members).(*map[string]json.RawMessage); ok {
		*raw = unknown
		return nil
	}
	*members = make(map[string]T, len(unknown))
	for name, text := range unknown {
		var value T
		if err := Decode(name, text, &value); err != nil {
			return err
		}
		(*members)[name] = value
	}
	return nil
}
