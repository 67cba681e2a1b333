package commandline

import (
	"errors"
	"time"
)

// Time parses a time in RFC 3339, or a duration before now.
func Time(text string, now time.Time) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, errors.New("must be a time such as 2006-01-02T15:04:05Z, or a duration before now such as 2h")
	}
	return at, nil
}
