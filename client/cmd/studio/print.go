package main

import (
	"strconv"
	"strings"
	"unicode"
)

// printable escapes control characters and characters that change the direction of text.
func printable(text string) string {
	var out strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			out.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		out.WriteString(quoted[1 : len(quoted)-1])
	}
	return out.String()
}

// maxTitle is the number of characters of a title in a table.
const maxTitle = 60

// title returns a title for a table. It truncates a title that is too long.
func title(text *string) string {
	runes := []rune(cell(text))
	if len(runes) <= maxTitle {
		return string(runes)
	}
	return string(runes[:maxTitle-1]) + "…"
}
