package validate_test

import (
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

// Patterns have the meaning of ECMA-262, even where RE2 reads the same text differently.
func TestSchema_Validate_matchesPatternsOfECMA262(t *testing.T) {
	t.Parallel()
	for pattern, c := range map[string]struct{ match, other []string }{
		`^.$`:                     {[]string{"a", "😀", "\v", "\u0085"}, []string{"\n", "\r", "\u2028", "\u2029", ""}},
		`a$`:                      {[]string{"a"}, []string{"a\n", "a\nb"}},
		`^b`:                      {[]string{"b"}, []string{"a\nb"}},
		`^\s$`:                    {[]string{" ", "\t", "\v", "\u00a0", "\ufeff", "\u2028", "\u3000"}, []string{"a", "\u0085", "\u200b"}},
		`^\S$`:                    {[]string{"a", "\u0085", "\u200b", "\U0010ffff", "\x00"}, []string{" ", "\v", "\u00a0", "\ufeff"}},
		`^[\s_]$`:                 {[]string{"_", "\u2003"}, []string{"a"}},
		`^[^\s_]$`:                {[]string{"a"}, []string{"_", "\u2003"}},
		`^[\S ]$`:                 {[]string{"a", " "}, []string{"\t", "\u00a0"}},
		`^[^\S ]$`:                {[]string{"\t", "\u00a0"}, []string{"a", " "}},
		`^[\s\S]$`:                {[]string{"a", "\n"}, []string{"", "aa"}},
		`^[-\d]$`:                 {[]string{"-", "7"}, []string{"a", "߀"}},
		`^[a\-z]$`:                {[]string{"a", "-", "z"}, []string{"b"}},
		`^[[:alpha:]]$`:           {[]string{"[]", "a]", ":]"}, []string{"x", "b]"}},
		`^[\]^]$`:                 {[]string{"]", "^"}, []string{"a"}},
		`^[\b]$`:                  {[]string{"\b"}, []string{"b"}},
		`\bé`:                     {[]string{"aé"}, []string{"é"}},
		`^\cJ\cj$`:                {[]string{"\n\n"}, []string{"J"}},
		`^\u0041\x42\u{1F600}\0$`: {[]string{"AB😀\x00"}, []string{"AB"}},
		`^\ud83d\ude00$`:          {[]string{"😀"}, []string{"a"}},
		`^\p{Lu}\P{L}$`:           {[]string{"Ä1"}, []string{"ä1", "Äa"}},
		`^\p{Script=Greek}$`:      {[]string{"π"}, []string{"p"}},
		`^(?:a|(?<name>b))\/\.$`:  {[]string{"a/.", "b/."}, []string{"a/x"}},
		`^a{2,3}?$`:               {[]string{"aa", "aaa"}, []string{"a"}},
	} {
		s := compileSchemas(t, `{"S": {"type": "string", "pattern": `+asJSON(pattern)+`}}`)
		for _, text := range c.match {
			checkBodies(t, s, map[string]string{asJSON(text): "ok"})
		}
		for _, text := range c.other {
			err := failure(t, s.Validate([]byte(asJSON(text))))
			if violations(err) != " pattern" || err.Violations[0].Detail != "must match "+pattern {
				t.Errorf("%s and %q: got %v", pattern, text, err)
			}
		}
	}
}

// Patterns that RE2 cannot express are rejected.
func TestLoad_rejectsUnsupportedPatterns(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{
		`(`, `a**`, `a{2000}`, `[b-a]`, `[a-\d]`, `[\s-z]`, `[\B]`,
		`(?=a)`, `(?!a)`, `(?<=a)`, `(?<!a)`, `(?i)a`, `(?i:a)`, `(?P<n>a)`, `(?#)`, `(a)\1`, `(?<n>a)\k<n>`,
		`\`, `\a`, `\A`, `\z`, `\Z`, `\Q.\E`, `\C`, `\pL`, `\p`, `\p{`, `\p{Greek}`, `\p{Script=greek}`, `\P{}`, `\07`, `\8`, `\_`, `\é`,
		`\c`, `\c1`, `\x4`, `\x{41}`, `\u004`, `\u{}`, `\u{110000}`, `\u{d800}`, `\u{41`, `\ud83d`, `\ud83dx`, `\ud83d\u0041`, `\ude00`, `\u+041`,
	} {
		_, err := validate.Load(document(t, `{"components": {"schemas": {"S": {"pattern": `+asJSON(pattern)+`}}}}`), validate.Config{})
		if err == nil || !strings.Contains(err.Error(), ": /components/schemas/S/pattern: ") {
			t.Errorf("%s: got %v", pattern, err)
		}
	}
}
