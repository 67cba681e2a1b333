package protocol

import (
	"strings"
	"unicode"
)

// MaxText is how many characters [Clean] leaves.
const MaxText = 300

// Clean makes a text fit to be shown: one line of at most [MaxText] characters, without
// control or formatting characters, which could break a terminal or turn the order of what
// stands after them.
func Clean(text string) string {
	var b strings.Builder
	n, space := 0, false
	for _, r := range strings.ToValidUTF8(text, " ") {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			space = n > 0
			continue
		}
		if !unicode.IsGraphic(r) {
			continue
		}
		if n+2 >= MaxText {
			b.WriteRune('…')
			break
		}
		if space {
			b.WriteByte(' ')
			n, space = n+1, false
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}
