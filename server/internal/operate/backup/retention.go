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
	mediaExtension    = ".media" // of a point without a database, which is empty
	sealedExtension   = ".age"
)

// timeFormat is the format of the time in the key of a point.
const timeFormat = "2006-01-02T15:04:05Z"

// point is a complete backup in a place.
type point struct {
	key  string
	time time.Time
	size int64 // of its database, compressed
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
	p = point{key, at, size}
	switch strings.TrimSuffix(name[len(timeFormat):], sealedExtension) {
	case databaseExtension:
		return p, true
	case mediaExtension:
		p.size = 0
		return p, true
	}
	return p, false
}

// hasDatabase reports whether a point has a snapshot of a database.
func (p point) hasDatabase() bool {
	return strings.HasSuffix(strings.TrimSuffix(p.key, sealedExtension), databaseExtension)
}

// pointKey returns the key of the point of a time.
func pointKey(at time.Time, extension string) string {
	return folder + at.UTC().Format(timeFormat) + extension
}

// kept returns the points that retention keeps of those that are not from the future: the latest point, and the latest
// of each of the last 24 hours, 7 days and 4 weeks that have one.
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

// maxSkew is how much the clocks of machines may differ.
const maxSkew = 5 * time.Minute

// ahead reports whether a time is in the future, and not only because the clocks of machines differ.
func ahead(at, now time.Time) bool { return at.After(now.Add(maxSkew)) }

// split separates the points from the future, which were made while a clock was ahead, from the others.
func split(points []point, now time.Time) (past, future []point) {
	for _, p := range points {
		if ahead(p.time, now) {
			future = append(future, p)
		} else {
			past = append(past, p)
		}
	}
	return past, future
}

// names returns the times of points.
func names(points []point) string {
	times := make([]string, len(points))
	for i, p := range points {
		times[i] = p.time.Format(timeFormat)
	}
	return strings.Join(times, " ")
}

// find returns the point that a text such as 2026-11-22T10:00 names: the latest one whose time begins with the text, or
// otherwise the latest one before it. The text "latest" names the latest one. A point from the future is skipped,
// unless the text is its whole time. The error is ErrTime or ErrNone.
func find(points []point, text string, now time.Time) (found point, skipped []point, err error) {
	text = strings.TrimSuffix(text, "Z")
	if text != "latest" {
		const midnight = "2006-01-02T00:00:00" // has what the text may lack
		if n := len(text); n < len(time.DateOnly) || n > len(midnight) {
			return found, nil, ErrTime
		}
		if _, err := time.Parse("2006-01-02T15:04:05", text+midnight[len(text):]); err != nil {
			return found, nil, ErrTime
		}
		points = slices.DeleteFunc(slices.Clone(points), func(p point) bool { return p.time.Format(timeFormat)[:len(text)] > text })
		if found = latest(points); text+"Z" == found.time.Format(timeFormat) {
			return found, nil, nil
		}
	}
	points, skipped = split(points, now)
	switch {
	case len(points) > 0:
		return latest(points), skipped, nil
	case len(skipped) > 0:
		return found, skipped, fmt.Errorf("%w, only later than the clock of this machine: %s", ErrNone, names(skipped))
	}
	return found, nil, ErrNone
}
