package schema

import (
	"bytes"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/decimal"
)

// isDateTime accepts the times of RFC 3339 that time.Time can represent.
func isDateTime(text []byte) bool {
	const seconds = "0000-00-00T00:00:00"
	if len(text) <= len(seconds) || !isShaped(text[:len(seconds)], seconds) {
		return false
	}
	zone := text[len(seconds):]
	if zone[0] == '.' {
		zone = zone[1+decimal.LeadingDigits(zone[1:]):]
	}
	if string(zone) != "Z" && !isOffset(zone) {
		return false
	}
	var t time.Time // checks the calendar
	return t.UnmarshalText(text) == nil
}

func isOffset(text []byte) bool {
	return (isShaped(text, "+00:00") || isShaped(text, "-00:00")) && string(text[1:3]) < "24" && text[4] < '6'
}

// isShaped reports whether text equals shape, with any digit in place of each 0.
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

// isTime accepts the times of RFC 3339, including possible leap seconds.
func isTime(text []byte) bool {
	const day = "2000-01-01T"
	full := append([]byte(day), text...)
	if last := len(full) - 1; full[last] == 'z' {
		full[last] = 'Z'
	}
	if len(text) < len("00:00:60") || string(text[6:8]) != "60" {
		return isDateTime(full)
	}
	copy(full[len(day)+6:], "59")
	t, err := time.Parse(time.RFC3339, string(full))
	return err == nil && isDateTime(full) && t.UTC().Hour() == 23 && t.UTC().Minute() == 59
}

// isDuration accepts the durations of RFC 3339, appendix A, where each unit is followed by the next smaller
// one.
func isDuration(text []byte) bool {
	rest, ok := bytes.CutPrefix(text, []byte("P"))
	if !ok || len(rest) == 0 {
		return false
	}
	if weeks, ok := bytes.CutSuffix(rest, []byte("W")); ok {
		return len(weeks) > 0 && decimal.LeadingDigits(weeks) == len(weeks)
	}
	date, clock, hasTime := bytes.Cut(rest, []byte("T"))
	return hasUnits(date, "YMD") && hasUnits(clock, "HMS") && (!hasTime || len(clock) > 0)
}

// hasUnits reports whether text consists of numbers with consecutive units of units.
func hasUnits(text []byte, units string) bool {
	last := -1
	for len(text) > 0 {
		digits := decimal.LeadingDigits(text)
		if digits == 0 || digits == len(text) {
			return false
		}
		unit := strings.IndexByte(units, text[digits])
		if unit < 0 || last >= 0 && unit != last+1 {
			return false
		}
		last, text = unit, text[digits+1:]
	}
	return true
}
