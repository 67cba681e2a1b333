package client

import (
	"cmp"
	"regexp"
	"strings"
	"time"
)

// dateTime matches a calendar date and a time of day, of which the minutes and the seconds are optional.
var dateTime = regexp.MustCompile(`^(\d{4})-?(\d\d)-?(\d\d)[Tt ](\d\d)(?::?(\d\d)(?::?(\d\d)(?:[.,](\d+))?)?)?(?:([Zz])|([+-](?:[01]\d|2[0-3]))(?::?([0-5]\d))?)?$`)

// parseDateTime parses a date-time of ISO 8601, in the basic or extended format: a calendar date and a time of day,
// without which seconds and minutes are zero. A fraction of the seconds follows a point or a comma. The zone is Z, an
// offset, or absent, which means UTC. A space may replace the T.
func parseDateTime(text string) (t time.Time, ok bool) {
	m := dateTime.FindStringSubmatch(text)
	if m == nil {
		return t, false
	}
	second, leap := m[6], time.Duration(0)
	if second == "60" {
		second, leap = "59", time.Second
	}
	zone := "Z"
	if m[9] != "" {
		zone = m[9] + ":" + cmp.Or(m[10], "00")
	}
	clock := strings.Join([]string{m[4], cmp.Or(m[5], "00"), cmp.Or(second, "00")}, ":")
	if err := t.UnmarshalText([]byte(m[1] + "-" + m[2] + "-" + m[3] + "T" + clock + "." + cmp.Or(m[7], "0") + zone)); err != nil {
		return t, false
	}
	t = t.Add(leap)
	return t, t.Year() <= 9999 // a leap second on the last day of 9999 is out of range
}
