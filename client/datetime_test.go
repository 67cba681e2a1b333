package client_test

import (
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
)

func TestParseDateTime_acceptsISO8601Only(t *testing.T) {
	t.Parallel()
	utc := time.Date(2026, time.January, 12, 9, 30, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-01-12T09:30:00Z":            utc,
		"2026-01-12 09:30:00Z":            utc,
		"2026-01-12T09:30":                utc,
		"2026-01-12T09,5Z":                utc,
		"2026-01-12T09":                   utc.Add(-30 * time.Minute),
		"2026-01-12T09:29,5Z":             utc.Add(-30 * time.Second),
		"2026-01-12T15:00:00+05:30":       utc,
		"2026-01-12T02:30:00-07":          utc,
		"2026-01-13T09:29+2359":           utc,
		"2026-01-12T09:30:00.123456":      utc.Add(123456 * time.Microsecond),
		"2026-01-12T09:30:00.1234567899Z": utc.Add(123456789),
		"20260112T093000Z":                utc,
		"20260112T093000,5+0000":          utc.Add(500 * time.Millisecond),
		"20260112T09:30:00Z":              utc,
		"2026-012T09:30:00Z":              utc,
		"2026012T093000Z":                 utc,
		"2026W031T093000Z":                utc,
		"2020-W53-7T00:00Z":               time.Date(2021, time.January, 3, 0, 0, 0, 0, time.UTC),
		"2027-W01-1T00:00Z":               time.Date(2027, time.January, 4, 0, 0, 0, 0, time.UTC),
		"2024-366T00:00Z":                 time.Date(2024, time.December, 31, 0, 0, 0, 0, time.UTC),
		"2024-02-29T00:00Z":               time.Date(2024, time.February, 29, 0, 0, 0, 0, time.UTC),
		"2026-01-12T24:00:00Z":            time.Date(2026, time.January, 13, 0, 0, 0, 0, time.UTC),
		"2016-12-31T23:59:60Z":            time.Date(2017, time.January, 1, 0, 0, 0, 0, time.UTC),
		"0000-01-01T00:00:00Z":            time.Date(0, time.January, 1, 0, 0, 0, 0, time.UTC),

		"":                          {},
		"2026-01-12":                {}, // a date without a time
		"09:30:00Z":                 {}, // a time without a date
		"2026-13-12T09:30Z":         {},
		"2026-02-29T09:30Z":         {},
		"2026-366T09:30Z":           {},
		"2025-W53-1T09:30Z":         {},
		"2026-W03-8T09:30Z":         {},
		"2026-01-12T0930:00Z":       {},
		"2026-01-12T09:60Z":         {},
		"2026-01-12T25:00Z":         {},
		"2026-01-12T24:00:01Z":      {},
		"2026-01-12T24:00:00.5Z":    {},
		"2026-01-12T24:00:60Z":      {},
		"2026-01-12T09:30:61Z":      {},
		"2026-01-12T09:30:00ZZ":     {},
		"2026-01-12T09:30:00+24:00": {},
		"2026-01-12T09:30:00+01:60": {},
		"9999-12-31T24:00Z":         {},
	} {
		got, ok := client.ParseDateTime(text)
		if ok == want.IsZero() || ok && !got.Equal(want) {
			t.Errorf("%q: %v, %t, want %v", text, got, ok, want)
		}
	}
}
