package client_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
)

func TestParseDateTime_acceptsISO8601Only(t *testing.T) {
	t.Parallel()
	utc := time.Date(2026, time.January, 12, 9, 30, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-01-12T09:30:00Z":            utc,
		"2026-01-12t09:30:00z":            utc,
		"2026-01-12 09:30:00Z":            utc,
		"2026-01-12T09:30:00":             utc,
		"2026-01-12T09:30":                utc,
		"2026-01-12T09:30Z":               utc,
		"2026-01-12T09":                   utc.Add(-30 * time.Minute),
		"2026-01-12T09:30:00-00:00":       utc,
		"2026-01-12T09:30:00+0000":        utc,
		"2026-01-12T09:30:00+00":          utc,
		"2026-01-12T15:00:00+05:30":       utc,
		"2026-01-12T02:30:00-07":          utc,
		"2026-01-12T02:30-0700":           utc,
		"2026-01-13T09:29+2359":           utc,
		"2026-01-12T09:30:00,5Z":          utc.Add(500 * time.Millisecond),
		"2026-01-12T09:30:00.1234567899Z": utc.Add(123456789),
		"20260112T093000Z":                utc,
		"20260112T0930Z":                  utc,
		"20260112T093000,5+0000":          utc.Add(500 * time.Millisecond),
		"2024-02-29T00:00Z":               time.Date(2024, time.February, 29, 0, 0, 0, 0, time.UTC),
		"2016-12-31T23:59:60.5Z":          time.Date(2017, time.January, 1, 0, 0, 0, 5e8, time.UTC),
		"0000-01-01T00:00:00Z":            time.Date(0, time.January, 1, 0, 0, 0, 0, time.UTC),
		"9999-12-31T23:59:59.999999999Z":  time.Date(9999, time.December, 31, 23, 59, 59, 999_999_999, time.UTC),

		"":                           {},
		"now":                        {},
		"2026-01-12":                 {}, // a date without a time
		"09:30:00Z":                  {}, // a time without a date
		"1768210200":                 {},
		"2026-01-12TZ":               {},
		"26-01-12T09:30Z":            {},
		"+2026-01-12T09:30Z":         {},
		"2026-13-12T09:30Z":          {},
		"2026-02-29T09:30Z":          {},
		"2026-01-12T9:30Z":           {},
		"2026-01-12T09:60Z":          {},
		"2026-01-12T25:00Z":          {},
		"2026-01-12T09:30:61Z":       {},
		"2026-01-12T09:30:00.Z":      {},
		"2026-01-12T09:30:00.+5Z":    {},
		"2026-01-12T09:30:00ZZ":      {},
		"2026-01-12T09:30:00+24:00":  {},
		"2026-01-12T09:30:00+01:60":  {},
		"2026-01-12T09:30:00+1":      {},
		"2026-01-12T09:30:00 +01:00": {},
		"2026-01-12T09:30:00GMT":     {},
		"9999-12-31T23:59:60Z":       {},
		"２０２６-01-12T09:30:00Z":       {},
	} {
		got, ok := client.ParseDateTime(text)
		if ok == want.IsZero() || ok && !got.Equal(want) {
			t.Errorf("%q: %v, %t, want %v", text, got, ok, want)
		}
	}
}

// rfc3339 is stricter than package time, which accepts an hour of one digit.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// Times that RFC 3339 allows are parsed as package time parses them, and every parsed time can be
// formatted.
func FuzzParseDateTime(f *testing.F) {
	for _, text := range []string{
		"2026-01-12T09:30:00Z", "2026-01-12T09:30:00.123456789+05:30", "20260112T093000,5-0700",
		"0000-01-01T00:00:00+23:59", "9999-12-31T23:59:59.999999999-23:59", "2016-12-31T23:59:60Z",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := client.ParseDateTime(text)
		var want time.Time
		if rfc3339.MatchString(text) && want.UnmarshalText([]byte(text)) == nil && (!ok || !got.Equal(want)) {
			t.Errorf("%q: %v, %t, want %v", text, got, ok, want)
		}
		if _, err := got.MarshalText(); ok && err != nil {
			t.Errorf("%q is read as %v: %v", text, got, err)
		}
	})
}
