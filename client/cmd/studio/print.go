package main

import (
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/gen"
)

// maxTitle is the number of characters of a title in a table.
const maxTitle = 60

// title returns a title for a table. It truncates a title that is too long.
func title(text *string) string {
	runes := []rune(commandline.Printable(gen.Or(text, "")))
	if len(runes) <= maxTitle {
		return string(runes)
	}
	return string(runes[:maxTitle-1]) + "…"
}

// stamp returns a time, or "" if it is missing.
func stamp(at *time.Time) string {
	if at == nil {
		return ""
	}
	return at.Format(time.RFC3339)
}
