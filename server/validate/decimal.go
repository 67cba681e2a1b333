package validate

import (
	"bytes"
	"cmp"
	"math"
	"math/bits"
	"strconv"
)

// decimal is the exact value 0.digits × 10^exp of a JSON number. digits has no leading or trailing zeros.
// Zero has no digits and is not negative.
type decimal struct {
	negative bool
	digits   []byte
	exp      int64
}

// parseDecimal parses a JSON number. It appends the digits to scratch.
func parseDecimal(scratch, text []byte) (d decimal, ok bool) {
	text, d.negative = bytes.CutPrefix(text, []byte("-"))
	whole := leadingDigits(text)
	if whole == 0 || whole > 1 && text[0] == '0' {
		return decimal{}, false
	}
	d.digits = append(scratch[:0], text[:whole]...)
	d.exp = int64(whole)
	text = text[whole:]
	if len(text) > 0 && text[0] == '.' {
		n := leadingDigits(text[1:])
		if n == 0 {
			return decimal{}, false
		}
		d.digits = append(d.digits, text[1:1+n]...)
		text = text[1+n:]
	}
	if len(text) > 0 && (text[0] == 'e' || text[0] == 'E') {
		exp, ok := parseExponent(text[1:])
		if !ok {
			return decimal{}, false
		}
		d.exp += exp
		text = nil
	}
	significant := bytes.TrimLeft(d.digits, "0")
	d.exp -= int64(len(d.digits) - len(significant))
	d.digits = bytes.TrimRight(significant, "0")
	if len(d.digits) == 0 {
		d.negative, d.exp = false, 0
	}
	return d, len(text) == 0
}

// parseExponent parses an exponent. Large exponents saturate: no body is long enough to have digits that
// offset them.
func parseExponent(text []byte) (exp int64, ok bool) {
	const most = math.MaxInt64 / 4
	sign := int64(1)
	if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
		if text[0] == '-' {
			sign = -1
		}
		text = text[1:]
	}
	if len(text) == 0 || leadingDigits(text) != len(text) {
		return 0, false
	}
	for _, digit := range text {
		exp = min(exp*10+int64(digit-'0'), most/10)
	}
	return sign * exp, true
}

func leadingDigits(text []byte) int {
	n := 0
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return n
}

func (d decimal) compare(e decimal) int {
	if d.negative != e.negative {
		if d.negative {
			return -1
		}
		return 1
	}
	order := d.compareMagnitude(e)
	if d.negative {
		return -order
	}
	return order
}

func (d decimal) compareMagnitude(e decimal) int {
	if len(d.digits) == 0 || len(e.digits) == 0 {
		return cmp.Compare(len(d.digits), len(e.digits))
	}
	return cmp.Or(cmp.Compare(d.exp, e.exp), bytes.Compare(d.digits, e.digits))
}

// appendTo appends the canonical text of d, which is the same for equal numbers.
func (d decimal) appendTo(dst []byte) []byte {
	if d.negative {
		dst = append(dst, '-')
	}
	dst = append(dst, "0."...)
	dst = append(dst, d.digits...)
	dst = append(dst, 'e')
	return strconv.AppendInt(dst, d.exp, 10)
}

// isInteger reports whether a number is written without a fraction and an exponent.
func isInteger(text []byte) bool {
	for _, b := range text {
		if b == '.' || b|0x20 == 'e' {
			return false
		}
	}
	return true
}

// count returns d as a non-negative integer of at most 18 digits.
func (d decimal) count(ok bool) (uint64, bool) {
	if !ok || d.negative || d.exp < int64(len(d.digits)) || d.exp > 18 {
		return 0, false
	}
	n := uint64(0)
	for i := range int(d.exp) {
		n *= 10
		if i < len(d.digits) {
			n += uint64(d.digits[i] - '0')
		}
	}
	return n, true
}

// multiple is a multipleOf: digits × 10^exp. digits has no trailing zeros.
type multiple struct {
	digits uint64
	exp    int64
	detail string
}

// maxMultiple is the most significant digits that a multipleOf may have.
const maxMultiple = 18

// divides reports whether d is an exact multiple of m.
func (m *multiple) divides(d decimal) bool {
	if len(d.digits) == 0 {
		return true
	}
	zeros := d.exp - int64(len(d.digits)) - m.exp
	if zeros < 0 {
		return false // the last digit of d would be zero otherwise
	}
	rest := uint64(0)
	for _, digit := range d.digits {
		rest = (mulMod(rest, 10, m.digits) + uint64(digit-'0')) % m.digits
	}
	power := 10 % m.digits
	for ; zeros > 0 && rest != 0; zeros >>= 1 {
		if zeros&1 != 0 {
			rest = mulMod(rest, power, m.digits)
		}
		power = mulMod(power, power, m.digits)
	}
	return rest == 0
}

func mulMod(a, b, m uint64) uint64 {
	high, low := bits.Mul64(a%m, b%m)
	_, rest := bits.Div64(high, low, m)
	return rest
}
