package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
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

// printJSON writes a document on one line that is safe for a terminal.
func printJSON(out io.Writer, document []byte) error {
	var compact, line bytes.Buffer
	if err := json.Compact(&compact, document); err != nil {
		return err
	}
	// Only strings can contain characters outside of ASCII, and escaping them does not change their value.
	for _, r := range compact.String() {
		switch {
		case unicode.IsPrint(r):
			line.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&line, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&line, `\u%04x`, r)
		}
	}
	line.WriteByte('\n')
	_, err := out.Write(line.Bytes())
	return err
}

func printValue(out io.Writer, value any) error {
	document, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return printJSON(out, document)
}
