package main

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"
)

// goName converts a name of the document to a Go name in camel case. Letters without case, such as 名, are kept, and get
// the prefix X where they would begin a name, which would not be exported.
func goName(name string) string {
	var b strings.Builder
	for name != "" {
		cased := strings.IndexFunc(name, isUncased)
		if cased < 0 {
			cased = len(name)
		}
		b.WriteString(codegen.ToCamelCaseWithInitialisms(name[:cased]))
		name = name[cased:]
		r, size := utf8.DecodeRuneInString(name)
		if size > 0 {
			b.WriteRune(r)
		}
		name = name[size:]
	}
	if first, _ := utf8.DecodeRuneInString(b.String()); isUncased(first) {
		return "X" + b.String()
	}
	return b.String()
}

// isUncased reports whether r is a letter that is neither upper nor lower case.
func isUncased(r rune) bool { return unicode.IsLetter(r) && !unicode.IsUpper(r) && !unicode.IsLower(r) }
