package commandline_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

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

// A printed line of JSON equals the document and has only printable characters.
func FuzzPrintJSON(f *testing.F) {
	f.Add(`{"title":"Ada \u001b[2J","more":[1.0,{"a":null}]}`)
	f.Add("{\"title\":\"\u202e\u009b\U000e0001\"}")
	f.Add("[\"\U0001f3ac\"]")
	f.Add("[\n\"a\"\n]")
	f.Add("[\"\x80\xae\"]")
	f.Fuzz(func(t *testing.T, document string) {
		var line bytes.Buffer
		err := commandline.PrintJSON(&line, json.RawMessage(document))
		if (err == nil) != json.Valid([]byte(document)) {
			t.Fatalf("%q: %v", document, err)
		}
		if err != nil {
			return
		}
		text, ended := strings.CutSuffix(line.String(), "\n")
		if !ended || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q is printed as %q", document, line.String())
		}
		var before, after any
		if json.Unmarshal([]byte(document), &before) == nil && (json.Unmarshal([]byte(text), &after) != nil || !reflect.DeepEqual(before, after)) {
			t.Errorf("%q became %q", document, text)
		}
	})
}
