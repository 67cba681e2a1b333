package client

import (
	"strconv"
	"strings"
	"time"
)

// parseDateTime parses a date-time of ISO 8601, in the basic or extended format. The date may be a
// calendar, ordinal or week date. Seconds and minutes are optional, and the last unit may have a decimal
// fraction after a point or a comma. The zone is Z, an offset, or absent, which means UTC. A space may
// replace the T.
func parseDateTime(text string) (time.Time, bool) {
	separator := strings.IndexAny(text, "Tt ")
	if separator < 0 {
		return time.Time{}, false
	}
	year, month, day, ok := parseDate(text[:separator])
	if !ok {
		return time.Time{}, false
	}
	clock, location := text[separator+1:], time.UTC
	if at := strings.IndexAny(clock, "Zz+-"); at >= 0 {
		if location, ok = parseZone(clock[at:]); !ok {
			return time.Time{}, false
		}
		clock = clock[:at]
	}
	sinceMidnight, ok := parseClock(clock)
	if !ok {
		return time.Time{}, false
	}
	seconds, nanoseconds := sinceMidnight/time.Second, sinceMidnight%time.Second
	t := time.Date(year, month, day, 0, 0, int(seconds), int(nanoseconds), location)
	return t, t.Year() <= 9999 // 24:00 on the last day of 9999 is out of range
}

func parseDate(text string) (year int, month time.Month, day int, ok bool) {
	if len(text) < 7 {
		return 0, 0, 0, false
	}
	year, ok = parseNumber(text[:4], 0, 9999)
	if !ok {
		return 0, 0, 0, false
	}
	rest, extended := strings.CutPrefix(text[4:], "-")
	if week, isWeek := strings.CutPrefix(rest, "W"); isWeek {
		return parseWeekDate(year, week, extended)
	}
	if len(rest) == 3 {
		leap := time.Date(year, time.December, 31, 0, 0, 0, 0, time.UTC).YearDay()
		day, ok = parseNumber(rest, 1, leap)
		return year, time.January, day, ok
	}
	if extended && len(rest) == 5 && rest[2] == '-' {
		rest = rest[:2] + rest[3:]
	} else if extended || len(rest) != 4 {
		return 0, 0, 0, false
	}
	number, isMonth := parseNumber(rest[:2], 1, 12)
	month = time.Month(number)
	lastDay := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
	day, isDay := parseNumber(rest[2:], 1, lastDay)
	return year, month, day, isMonth && isDay
}

// parseWeekDate parses the week and weekday of a date. Week 1 contains January 4.
func parseWeekDate(year int, text string, extended bool) (int, time.Month, int, bool) {
	if extended && len(text) == 4 && text[2] == '-' {
		text = text[:2] + text[3:]
	} else if extended || len(text) != 3 {
		return 0, 0, 0, false
	}
	_, weeks := time.Date(year, time.December, 28, 0, 0, 0, 0, time.UTC).ISOWeek()
	week, isWeek := parseNumber(text[:2], 1, weeks)
	weekday, isWeekday := parseNumber(text[2:], 1, 7)
	fourth := time.Date(year, time.January, 4, 0, 0, 0, 0, time.UTC).Weekday()
	day := 4 - (int(fourth)+6)%7 + 7*(week-1) + weekday - 1
	return year, time.January, day, isWeek && isWeekday
}

// parseClock returns the time since midnight.
func parseClock(text string) (time.Duration, bool) {
	fraction := ""
	if at := strings.IndexAny(text, ".,"); at >= 0 {
		text, fraction = text[:at], text[at+1:]
		if fraction == "" {
			return 0, false
		}
	}
	digits := text
	if len(text) > 2 && text[2] == ':' {
		if len(text) != 5 && (len(text) != 8 || text[5] != ':') {
			return 0, false
		}
		digits = strings.ReplaceAll(text, ":", "")
	}
	if len(digits) != 2 && len(digits) != 4 && len(digits) != 6 {
		return 0, false
	}
	var sum time.Duration
	unit, maximum := time.Hour, 24
	for {
		number, ok := parseNumber(digits[:2], 0, maximum)
		if !ok {
			return 0, false
		}
		sum += time.Duration(number) * unit
		if digits = digits[2:]; digits == "" {
			break
		}
		if unit /= 60; unit == time.Minute {
			maximum = 59
		} else {
			maximum = 60 // leap second
		}
	}
	// Digits after the ninth are dropped.
	part, ok := parseNumber((fraction + "000000000")[:9], 0, 999_999_999)
	if !ok || strings.Trim(fraction, "0123456789") != "" {
		return 0, false
	}
	sum += time.Duration(part) * (unit / time.Second)
	return sum, sum <= 24*time.Hour || unit == time.Second && sum < 24*time.Hour+time.Second && !strings.HasPrefix(text, "24")
}

// parseZone parses Z or an offset in hours and minutes.
func parseZone(text string) (*time.Location, bool) {
	if text == "Z" || text == "z" {
		return time.UTC, true
	}
	digits := text[1:]
	if len(digits) == 5 && digits[2] == ':' {
		digits = digits[:2] + digits[3:]
	}
	if len(digits) == 2 {
		digits += "00"
	}
	if len(digits) != 4 {
		return nil, false
	}
	hours, isHours := parseNumber(digits[:2], 0, 23)
	minutes, isMinutes := parseNumber(digits[2:], 0, 59)
	offset := (hours*60 + minutes) * 60
	if text[0] == '-' {
		offset = -offset
	}
	if offset == 0 {
		return time.UTC, isHours && isMinutes
	}
	return time.FixedZone("", offset), isHours && isMinutes
}

// parseNumber parses a number of decimal digits within limits.
func parseNumber(digits string, minimum, maximum int) (int, bool) {
	number, err := strconv.ParseUint(digits, 10, 32)
	return int(number), err == nil && int(number) >= minimum && int(number) <= maximum
}
