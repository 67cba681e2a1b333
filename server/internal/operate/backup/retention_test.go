package backup

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func TestKept_hourlyDailyAndWeekly(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC) // a Sunday
	for name, test := range map[string]struct {
		every time.Duration
		n     int
		want  []string // times of the kept points, the latest first; nil means want a number only
		kept  int
	}{
		"one":               {time.Hour, 1, []string{"22T10:00"}, 1},
		"a day of hours":    {time.Hour, 24, nil, 24},
		"every ten minutes": {10 * time.Minute, 13, []string{"22T10:00", "22T09:50", "22T08:50"}, 3},
		"days":              {24 * time.Hour, 7, nil, 7},
		// 24 hours reach back to 21T11, the days to the last points of the 16th to 20th, and the weeks to those of the
		// 15th, 8th and 1st.
		"a year of hours": {time.Hour, 365 * 24, nil, 24 + 5 + 3},
		"weeks":           {7 * 24 * time.Hour, 60, nil, 24}, // the last 24 hours that have a point
	} {
		var points []point
		for i := range test.n {
			points = append(points, point{time: end.Add(-time.Duration(i) * test.every)})
		}
		slices.Reverse(points)
		var got []string
		for _, p := range kept(points) {
			got = append(got, p.time.Format("02T15:04"))
		}
		if len(got) != test.kept || test.want != nil && !slices.Equal(got, test.want) {
			t.Errorf("%s: kept are %v, want %d %v", name, got, test.kept, test.want)
		}
	}
}

func TestFind_namesTheLatestPointThatIsNotLater(t *testing.T) {
	t.Parallel()
	var points []point
	for _, at := range []string{"2026-11-21T23:00:00Z", "2026-11-22T10:00:00Z", "2026-11-22T10:00:42Z", "2026-11-22T11:00:00Z"} {
		points = append(points, point{time: try(time.Parse(timeFormat, at))(t)})
	}
	for text, want := range map[string]string{
		"latest": "22T11:00:00", "2026-11-22T10:00": "22T10:00:42", "2026-11-22T10:00:00Z": "22T10:00:00", "2026-11-22T10:30": "22T10:00:42",
		"2026-11-22": "22T11:00:00", "2026-11-22T03": "21T23:00:00", "2027-01-01": "22T11:00:00", "2026-11-21T22:59": "", "2025-01-01": "",
	} {
		found, _, err := find(points, text, points[3].time)
		if got := found.time.Format("02T15:04:05"); (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("%q names %s, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "yesterday", "2026", "2026-11-22T10:00:00+01:00"} {
		if _, _, err := find(points, text, points[3].time); !errors.Is(err, ErrTime) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
