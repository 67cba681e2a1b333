package commandline_test

import (
	"testing"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
)

func TestPrintable_escapesControlCharacters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Ada, l’équipe 日本": "Ada, l’équipe 日本",
		"\x1b]0;title\a":   `\x1b]0;title\a`,
		"a\nb\tc\r":        `a\nb\tc\r`,
		"\u202egpj.exe":    `\u202egpj.exe`,
		"\u009b2J":         `\u009b2J`,
		"\xff":             `�`,
	} {
		if got := commandline.Printable(text); got != want {
			t.Errorf("%q is printed as %q, want %q", text, got, want)
		}
	}
}
