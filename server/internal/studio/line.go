package studio

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxName is the maximum length of the names of workspaces and API keys, in characters.
const MaxName = 100

// Line returns a text as one line, as names are stored and titles are shown beside other text. White space and control
// characters become one space. The characters that change the direction of the text around them are dropped.
func Line(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Bidi_Control, r):
			return -1
		case unicode.IsControl(r):
			return ' '
		}
		return r
	}, text)), " ")
}

// name returns the name that a user gives something, as one line. ok is false if it is empty or too long.
func (s *Service) name(text string) (name string, ok bool) {
	name = norm.NFC.String(Line(text))
	return name, name != "" && utf8.RuneCountInString(name) <= MaxName
}

// lines returns texts as one line each, or nil for nil.
func lines(texts []string) []string {
	all := slices.Clone(texts)
	for i, text := range all {
		all[i] = Line(text)
	}
	return all
}
