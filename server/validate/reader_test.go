package validate

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// readAll reads a text token by token, but every third value as a whole. It returns what it has read.
func readAll(from tokenReader) (read []string, err error) {
	for i := 0; ; i++ {
		kind := from.PeekKind()
		read = append(read, kind.String())
		var value jsontext.Value
		if container := strings.ContainsRune("{[]}", rune(kind)); container && (i%3 != 0 || kind == '}' || kind == ']') {
			_, err = from.ReadToken()
		} else if kind == 0 {
			_, err = from.ReadToken()
		} else {
			value, err = from.ReadValue()
		}
		if errors.Is(err, io.EOF) {
			return read, nil
		}
		if err != nil {
			return read, err
		}
		read = append(read, string(value), strings.Repeat(".", from.StackDepth()))
	}
}

func readPlainly(text []byte) ([]string, error) {
	p := new(plainReader)
	p.reset(text, MaxDepth)
	return readAll(p)
}

func readStrictly(text []byte) ([]string, error) {
	return readAll(jsontext.NewDecoder(bytes.NewBuffer(text)))
}

// Text that plainReader accepts is JSON, and the tokens are the same as those of jsontext.Decoder.
func FuzzPlainReader(f *testing.F) {
	for _, text := range append(plainTexts(), notPlainTexts()...) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := readPlainly(text)
		if err != nil {
			return
		}
		want, err := readStrictly(text)
		if err != nil || strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%q: read %q, want %q %v", text, got, want, err)
		}
		p := new(plainReader)
		p.reset(text, MaxDepth)
		value, err := p.ReadValue()
		if _, end := p.ReadToken(); err != nil || !errors.Is(end, io.EOF) || !bytes.Equal(bytes.TrimSpace(text), value) {
			t.Errorf("%q as a whole: %q, %v, %v", text, value, err, end)
		}
	})
}

func TestPlainReader_readsCommonJSON(t *testing.T) {
	t.Parallel()
	for _, text := range plainTexts() {
		if _, err := readPlainly([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestPlainReader_givesUpOnOtherText(t *testing.T) {
	t.Parallel()
	for _, text := range notPlainTexts() {
		if read, err := readPlainly([]byte(text)); !errors.Is(err, errNotPlain) {
			t.Errorf("%q: read %q, %v", text, read, err)
		}
	}
}

func plainTexts() []string {
	return []string{
		`{}`, `[]`, `0`, `-0.5e+10`, `12E-3`, `""`, `true`, ` false `, "\n\t\rnull\n", `"a\"\\\/\b\f\n\r\tb"`, `"\u00e9\uD7FF\uE000é😀"`,
		`{"a":{"a":[1,{"b":[]},[[]]],"b":"x"},"é":[true,null,-1.5]}`, ` { "a" : [ 1 , 2 ] , "b" : { } } `, `[{},{"a":1},{"a":2}]`,
		strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth),
	}
}

func notPlainTexts() []string {
	return []string{
		``, ` `, `{`, `[`, `}`, `]`, `,`, `:`, `"`, `"a`, `"\`, `"\u12`, `"\x"`, `"\ud83d\ude00"`, "\"\n\"", "\"\xff\"", "\x00", "1\x00",
		`01`, `-`, `1.`, `.5`, `1e`, `+1`, `1x`, `tru`, `truex`, `nul`, `1 2`, `{} {}`, `[1 2]`, `[1,]`, `[,1]`, `[1,,2]`, `[1}`, `[:1]`,
		`{"a"}`, `{"a":}`, `{"a":1,}`, `{"a" 1}`, `{"a":1 "b":2}`, `{a:1}`, `{1:1}`, `{"a":1]`, `{,}`, `{"a":1,,"b":2}`, `{"a"::1}`, `{[]:1}`,
		`{"a":1,"a":2}`, `{"\u0061":1}`, `{"b":{"a":1,"a":1}}`, `1,`, `1:`, `{},`, `[]]`, `{}}`, "\ufeff{}",
		strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1),
	}
}
