package document_test

import (
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// FuzzNode_YAML checks that each text can be a name and a value in YAML.
func FuzzNode_YAML(f *testing.F) {
	for _, text := range []string{"", "a\nb\n", " a\n", "\ttab\n", "<<", "no", "0x1", "1e5", "é\u2028", "\x00", "- a", "a: b", "# a", "\n\n", "a \n b", "\ufeff", "'", "~", "=", "&a", "|"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) { // no document has it
			return
		}
		value := &document.Node{Kind: jsontext.KindString, Text: text}
		object := &document.Node{Kind: jsontext.KindBeginObject, Members: []document.Member{{Name: text, Value: value}}}
		array := &document.Node{Kind: jsontext.KindBeginArray, Elements: []*document.Node{value, object}}
		want, err := array.AppendJSON(nil, 1<<20)
		if err != nil {
			return
		}
		written, err := array.YAML()
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		read, err := document.Parse("a.yaml", written)
		if err != nil {
			t.Fatalf("%q: %v\n%s", text, err, written)
		}
		if got, _ := read.AppendJSON(nil, 1<<20); string(got) != string(want) {
			t.Errorf("%q: got %s, want %s\n%s", text, got, want, written)
		}
	})
}
