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
// characters become one space. Characters that nobody sees are dropped, and so are those that change the direction of
// the text around them. Between visible characters, it keeps a joiner, as in emojis and Persian, and after one, a
// variation selector.
func Line(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), r == '\u2800': // a blank of Braille
			return ' '
		case invisible(r) && !joins(r) && !selects(r):
			return -1
		}
		return r
	}, text)
	if strings.ContainsFunc(text, invisible) {
		runes := []rune(text)
		kept := runes[:0]
		for i, r := range runes {
			last := ' '
			if len(kept) > 0 {
				last = kept[len(kept)-1]
			}
			joined := i+1 < len(runes) && visible(runes[i+1]) && (visible(last) || selects(last))
			if !invisible(r) || joins(r) && joined || selects(r) && visible(last) {
				kept = append(kept, r)
			}
		}
		text = string(kept)
	}
	return strings.Join(strings.Fields(text), " ")
}

// invisible reports whether Unicode defines that a character is not shown, unlike the marks of numbers in Arabic.
func invisible(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

func visible(r rune) bool { return !invisible(r) && !unicode.IsSpace(r) }

func joins(r rune) bool { return r == '\u200c' || r == '\u200d' }

func selects(r rune) bool { return unicode.Is(unicode.Variation_Selector, r) }

// sameLetters are letters that Unicode folds to several, letters that it folds apart, as the four i of Turkish, because
// a program does not know the language of a title, and the iota below a letter, which would join the letter before it.
//
//nolint:gochecknoglobals // a table
var sameLetters = strings.NewReplacer("ß", "ss", "i\u0307", "i", "ı", "i", "\u0345", "ι")

// searchable returns a text so that two are equal if they differ only in case as Unicode folds it in full, in the width
// of letters and other forms that Unicode calls compatible, in how accents are encoded, or in what [Line] drops.
// Accents make a difference.
func searchable(text string) string {
	return norm.NFKC.String(sameLetters.Replace(strings.Map(func(r rune) rune {
		first := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			first = min(first, other)
		}
		return unicode.ToLower(first)
	}, norm.NFKD.String(Line(text)))))
}

// hasTitle reports whether a title contains a part that searchable returned.
func hasTitle(title *string, part string) bool {
	return title != nil && strings.Contains(searchable(*title), part)
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
