package studio_test

import (
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// A filter is free text, so no byte of it may separate it from the next.
func TestFrame_tellsPartsApart(t *testing.T) {
	t.Parallel()
	const text = "a\x00b\x00\x00"
	seen := make(map[string]int)
	for split := range 1 << len(text) { // a bit for each byte after which a part ends
		var parts []string
		rest := ""
		for i, b := range []byte(text) {
			rest += string(rune(b))
			if split>>i&1 == 1 {
				parts, rest = append(parts, rest), ""
			}
		}
		framed := string(studio.Frame(append(parts, rest)...))
		if other, ok := seen[framed]; ok {
			t.Errorf("%q has the frame of the split %b", strings.Join(parts, "|"), other)
		}
		seen[framed] = split
	}
}
