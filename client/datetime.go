package client

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// dateTime returns the form of a date-time of ISO 8601, in the basic or extended format. The date is a calendar,
// ordinal or week date. Programs whose service writes RFC 3339 never compile it.
//
//nolint:gochecknoglobals // computed once
var dateTime = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?P<year>\d{4})` +
		`(?:-(?P<month>\d\d)-(?P<day>\d\d)|(?P<month>\d\d)(?P<day>\d\d)|-?(?P<ordinal>\d{3})|` +
		`-W(?P<week>\d\d)-(?P<weekday>[1-7])|W(?P<week>\d\d)(?P<weekday>[1-7]))` +
		`[Tt ](?P<hour>\d\d)(?:(?P<minute>\d\d)(?P<second>\d\d)?|:(?P<minute>\d\d)(?::(?P<second>\d\d))?)?` +
		`(?:[.,](?P<fraction>\d+))?(?:[Zz]|(?P<zone>[+-]\d\d(?::?\d\d)?))?$`)
})

// parseDateTime parses a date-time of ISO 8601. Seconds and minutes are optional, and the last unit may have a decimal
// fraction after a point or a comma. The zone is Z, an offset, or absent, which means UTC. A space may replace the T.
func parseDateTime(text string) (time.Time, bool) {
	form := dateTime()
	match := form.FindStringSubmatch(text)
	if match == nil {
		return time.Time{}, false
	}
	parts := map[string]string{}
	numbers := map[string]int{}
	for i, name := range form.SubexpNames() {
		if match[i] != "" {
			parts[name] = match[i]
			numbers[name], _ = strconv.Atoi(match[i]) // a few digits, except for the fraction and the zone
		}
	}
	date, isDate := dateOf(numbers)
	unit := time.Hour
	if parts["second"] != "" {
		unit = time.Second
	} else if parts["minute"] != "" {
		unit = time.Minute
	}
	// Digits after the ninth are dropped.
	part, _ := strconv.Atoi((parts["fraction"] + "000000000")[:9])
	hour, minute, second := numbers["hour"], numbers["minute"], numbers["second"]
	sinceMidnight := time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second +
		time.Duration(part)*(unit/time.Second)
	zone, isZone := zoneOf(parts["zone"])
	if !isDate || !isZone || minute > 59 || second > 60 || hour > 23 && sinceMidnight != 24*time.Hour || hour == 24 && second == 60 {
		return time.Time{}, false
	}
	t := time.Date(date.Year(), date.Month(), date.Day(), 0, 0, int(sinceMidnight/time.Second), int(sinceMidnight%time.Second), zone)
	return t, t.Year() <= 9999 // 24:00 on the last day of 9999 is out of range
}

// dateOf returns the date, and whether there is one.
func dateOf(numbers map[string]int) (time.Time, bool) {
	year, week, ordinal := numbers["year"], numbers["week"], numbers["ordinal"]
	if weekday, ok := numbers["weekday"]; ok {
		// Week 1 contains January 4.
		fourth := time.Date(year, time.January, 4, 0, 0, 0, 0, time.UTC)
		date := fourth.AddDate(0, 0, 7*(week-1)+weekday-1-(int(fourth.Weekday())+6)%7)
		isoYear, isoWeek := date.ISOWeek()
		return date, isoYear == year && isoWeek == week
	}
	if _, ok := numbers["ordinal"]; ok {
		date := time.Date(year, time.January, ordinal, 0, 0, 0, 0, time.UTC)
		return date, date.Year() == year && date.YearDay() == ordinal
	}
	date := time.Date(year, time.Month(numbers["month"]), numbers["day"], 0, 0, 0, 0, time.UTC)
	return date, int(date.Month()) == numbers["month"] && date.Day() == numbers["day"]
}

// zoneOf returns the location for an offset in hours and minutes.
func zoneOf(offset string) (*time.Location, bool) {
	digits := strings.ReplaceAll(offset, ":", "")
	if len(digits) == 3 {
		digits += "00"
	}
	n, _ := strconv.Atoi(digits) // signed
	if hours, minutes := n/100, n%100; n != 0 {
		return time.FixedZone("", hours*3600+minutes*60), max(hours, -hours) < 24 && max(minutes, -minutes) < 60
	}
	return time.UTC, true
}
