package schema

import (
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
