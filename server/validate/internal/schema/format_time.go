package schema

import "time"

// isDateTime accepts the times of RFC 3339 that time.Time can represent.
func isDateTime(text []byte) bool {
	var t time.Time
	if t.UnmarshalText(text) != nil {
		return false
	}
	// time.Time reads an hour with one digit, a comma, and offsets of a whole day and hour, too.
	end := len(text) - 1
	return text[len("2006-01-02T1")] != ':' && text[len("2006-01-02T15:04:05")] != ',' &&
		(text[end] == 'Z' || string(text[end-4:end-2]) < "24" && text[end-1] < '6')
}

func isDate(text []byte) bool {
	_, err := time.Parse(time.DateOnly, string(text))
	return err == nil
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
