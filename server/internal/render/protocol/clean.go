package protocol

import (
	"strings"
	"unicode"
)

// MaxText is the maximum length of a text that [Clean] returns, in characters.
const MaxText = 300

// Clean returns text as one line of at most [MaxText] characters. It removes control and formatting
// characters, which could change the state of a terminal or the direction of the text after them.
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
