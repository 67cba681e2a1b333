// Package decimal compares the numbers of documents and values exactly.
package decimal

import (
	"bytes"
	"cmp"
	"math"
	"strconv"
)

// Decimal is the exact value 0.digits × 10^exp of a JSON number. digits has no leading or trailing zeros.
// Zero has no digits and is not negative.
type Decimal struct {
	negative bool
	digits   []byte
	exp      int64
}

// maxExponent is where large exponents saturate: no body is long enough to have digits that offset them.
const maxExponent = math.MaxInt64 / 40

// Parse returns the value of a JSON number. It appends the digits to scratch.
func Parse(scratch, text []byte) (d Decimal) {
	text, d.negative = bytes.CutPrefix(text, []byte("-"))
	whole := LeadingDigits(text)
	d.digits, d.exp = append(scratch[:0], text[:whole]...), int64(whole)
	if text = text[whole:]; len(text) > 0 && text[0] == '.' {
		fraction := LeadingDigits(text[1:])
		d.digits = append(d.digits, text[1:1+fraction]...)
		text = text[1+fraction:]
	}
	if len(text) > 0 { // e
		exp, sign := int64(0), int64(1)
		for _, c := range text[1:] {
			switch c {
			case '+':
			case '-':
				sign = -1
			default:
				exp = min(exp*10+int64(c-'0'), maxExponent)
			}
		}
		d.exp += sign * exp
	}
	significant := bytes.TrimLeft(d.digits, "0")
	d.exp -= int64(len(d.digits) - len(significant))
	if d.digits = bytes.TrimRight(significant, "0"); len(d.digits) == 0 {
		d.negative, d.exp = false, 0
	}
	return d
}

// LeadingDigits returns the number of decimal digits at the start of text.
func LeadingDigits(text []byte) int {
	n := 0
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return n
}

// Compare returns -1 if d is less than e, 0 if they are equal, and 1 otherwise.
func (d Decimal) Compare(e Decimal) int {
	if d.negative != e.negative {
		if d.negative {
			return -1
		}
		return 1
	}
	order := cmp.Or(cmp.Compare(d.exp, e.exp), bytes.Compare(d.digits, e.digits))
	if len(d.digits) == 0 || len(e.digits) == 0 {
		order = cmp.Compare(len(d.digits), len(e.digits))
	}
	if d.negative {
		return -order
	}
	return order
}

// AppendTo appends the canonical text of d, which is the same for equal numbers.
func (d Decimal) AppendTo(dst []byte) []byte {
	if d.negative {
		dst = append(dst, '-')
	}
	dst = append(dst, "0."...)
	dst = append(dst, d.digits...)
	dst = append(dst, 'e')
	return strconv.AppendInt(dst, d.exp, 10)
}

// IsInteger reports whether a number is written without a fraction and an exponent.
func IsInteger(text []byte) bool {
	for _, b := range text {
		if b == '.' || b|0x20 == 'e' {
			return false
		}
	}
	return true
}

// Count returns d as a non-negative integer of at most 18 digits.
func (d Decimal) Count() (n uint64, ok bool) {
	if d.negative || d.exp < int64(len(d.digits)) || d.exp > 18 {
		return 0, false
	}
	for i := range int(d.exp) {
		n *= 10
		if i < len(d.digits) {
			n += uint64(d.digits[i] - '0')
		}
	}
	return n, true
}

// IsPositive reports whether d is greater than 0.
func (d Decimal) IsPositive() bool { return !d.negative && len(d.digits) > 0 }

// IsDivisor reports whether d has few enough digits for [Decimal.IsMultipleOf].
func (d Decimal) IsDivisor() bool { return len(d.digits) <= 18 }

// IsMultipleOf reports whether d is an exact multiple of m, which is greater than 0.
func (d Decimal) IsMultipleOf(m Decimal) bool {
	zeros := d.exp - int64(len(d.digits)) - m.exp + int64(len(m.digits))
	if len(d.digits) == 0 || zeros < 0 { // the last digit of d would be zero otherwise
		return len(d.digits) == 0
	}
	m.exp = int64(len(m.digits))
	divisor, _ := m.Count()
	remainder := uint64(0)
	for _, digit := range d.digits {
		remainder = (remainder*10 + uint64(digit-'0')) % divisor // which has 18 digits, so nothing overflows
	}
	const factors = 60 // a number of 18 digits has fewer prime factors, so that more zeros do not help
	for range min(zeros, factors) {
		remainder = remainder * 10 % divisor
	}
	return remainder == 0
}
