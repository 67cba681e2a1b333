package schema

import (
	"unicode/utf8"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/decimal"
)

// closing returns the byte that ends a container.
func closing(isObject bool) byte {
	if isObject {
		return '}'
	}
	return ']'
}

// isString reports whether the content of a string that is not plain is valid: UTF-8, with control characters as
// escapes.
func isString(content []byte) bool {
	for i := 0; i < len(content); {
		switch length := escapeLength(content[i:]); {
		case content[i] < ' ', content[i] == '\\' && length == 0:
			return false
		case content[i] == '\\':
			i += length
		default:
			i++
		}
	}
	return utf8.Valid(content)
}

// escapeLength returns the length of the escape at the start of text, or 0 if it is invalid. Surrogates must
// form a pair, which has the length of two escapes.
func escapeLength(text []byte) int {
	const short, length = len(`\n`), len(`\u0000`)
	if len(text) < short {
		return 0
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return short
	}
	switch {
	case !isUnicodeEscape(text):
	case text[2]|0x20 != 'd' || text[3] < '8':
		return length
	case text[3]|0x20 < 'c' && isUnicodeEscape(text[length:]) && text[length+2]|0x20 == 'd' && text[length+3]|0x20 >= 'c':
		return 2 * length
	}
	return 0
}

// isUnicodeEscape reports whether text begins with an escape such as \u0000.
func isUnicodeEscape(text []byte) bool {
	if len(text) < len(`\u0000`) || text[0] != '\\' || text[1] != 'u' {
		return false
	}
	for _, c := range text[2:len(`\u0000`)] {
		if !isHex(c) {
			return false
		}
	}
	return true
}

// scanLiteral returns the end of the number, true, false or null at i, or -1 if there is none.
func scanLiteral(text []byte, i int) (end int) {
	word := ""
	switch text[i] {
	case 't':
		word = "true"
	case 'f':
		word = "false"
	case 'n':
		word = "null"
	default:
		return scanNumber(text, i)
	}
	if end = i + len(word); end > len(text) || string(text[i:end]) != word {
		return -1
	}
	return end
}

func scanNumber(text []byte, i int) (end int) {
	if text[i] == '-' {
		i++
	}
	whole := decimal.LeadingDigits(text[i:])
	if whole == 0 || whole > 1 && text[i] == '0' {
		return -1
	}
	i += whole
	if i < len(text) && text[i] == '.' {
		digits := decimal.LeadingDigits(text[i+1:])
		if digits == 0 {
			return -1
		}
		i += 1 + digits
	}
	if i < len(text) && text[i]|0x20 == 'e' {
		i++
		if i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		digits := decimal.LeadingDigits(text[i:])
		if digits == 0 {
			return -1
		}
		i += digits
	}
	return i
}
