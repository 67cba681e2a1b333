package commandline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
)

// PrintJSON writes a value as one line of JSON. It escapes characters that could control a terminal.
func PrintJSON(out io.Writer, value any) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	var safe strings.Builder
	for _, r := range strings.TrimSuffix(line.String(), "\n") {
		if unicode.IsPrint(r) {
			safe.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&safe, `\u%04x`, unit)
		}
	}
	_, err := fmt.Fprintln(out, safe.String())
	return err
}
