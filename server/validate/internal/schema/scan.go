package schema

import "github.com/avatarstudio/avatarstudio/server/validate/internal/decimal"

// closing returns the byte that ends a container.
func closing(isObject bool) byte {
	if isObject {
		return '}'
	}
	return ']'
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
