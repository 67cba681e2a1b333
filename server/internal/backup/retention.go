package backup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// folder is the folder of the points in a place.
const folder = "db/"

// Extensions of points.
const (
	databaseExtension = ".db.gz"
	mediaExtension    = ".media" // of a point without a database, whose content is empty
	sealedExtension   = ".age"
)

// timeFormat is the format of the time in the key of a point.
const timeFormat = "2006-01-02T15:04:05Z"

// point is a complete backup in a place.
type point struct {
	key  string
	time time.Time
	size int64
}

// parsePoint parses the key of a point. ok is false for all other keys.
func parsePoint(key string, size int64) (p point, ok bool) {
	name, ok := strings.CutPrefix(key, folder)
	if !ok || len(name) < len(timeFormat) {
		return p, false
	}
	at, err := time.Parse(timeFormat, name[:len(timeFormat)])
	if err != nil {
		return p, false
	}
	switch name[len(timeFormat):] {
	case databaseExtension, databaseExtension + sealedExtension, mediaExtension:
		return point{key, at, size}, true
	}
	return p, false
}

// pointKey returns the key of the point of a time.
func pointKey(at time.Time, extension string) string {
	return folder + at.UTC().Format(timeFormat) + extension
}

// kept returns the points that retention keeps: the latest point, and the latest of each of the last 24 hours, 7 days
// and 4 weeks that have one.
func kept(points []point) []point {
	points = slices.SortedFunc(slices.Values(points), func(a, b point) int { return b.time.Compare(a.time) })
	rules := []struct {
		left   int
		period func(time.Time) string
	}{
		{24, func(t time.Time) string { return t.Format("2006-01-02T15") }},
		{7, func(t time.Time) string { return t.Format(time.DateOnly) }},
		{4, func(t time.Time) string { year, week := t.ISOWeek(); return fmt.Sprint(year, week) }},
	}
	last := make([]string, len(rules))
	return slices.DeleteFunc(points, func(p point) bool {
		needed := false
		for i := range rules {
			if period := rules[i].period(p.time); rules[i].left > 0 && period != last[i] {
				rules[i].left--
				last[i], needed = period, true
			}
		}
		return !needed
	})
}

// latest returns the latest point, or the zero point if there is none.
func latest(points []point) point {
	if len(points) == 0 {
		return point{}
	}
	return slices.MaxFunc(points, func(a, b point) int { return cmp.Or(a.time.Compare(b.time), cmp.Compare(a.key, b.key)) })
}

// until returns the points before a time.
func until(points []point, end time.Time) []point {
	return slices.DeleteFunc(slices.Clone(points), func(p point) bool { return !p.time.Before(end) })
}

// find returns the point that a text such as 2026-11-22T10:00 names: the latest one whose time begins with the text, or
// otherwise the latest one before it. The text "latest" names the latest one. The error is ErrTime or ErrNone.
func find(points []point, text string) (point, error) {
	if text != "latest" {
		end, err := endOf(strings.TrimSuffix(text, "Z"))
		if err != nil {
			return point{}, err
		}
		points = until(points, end)
	}
	if len(points) == 0 {
		return point{}, ErrNone
	}
	return latest(points), nil
}

// endOf returns the end of the day, hour, minute or second that a text names.
func endOf(text string) (time.Time, error) {
	for layout, length := range map[string]time.Duration{
		time.DateOnly: 24 * time.Hour, "2006-01-02T15": time.Hour, "2006-01-02T15:04": time.Minute, "2006-01-02T15:04:05": time.Second,
	} {
		if begin, err := time.Parse(layout, text); err == nil {
			return begin.Add(length), nil
		}
	}
	return time.Time{}, ErrTime
}
