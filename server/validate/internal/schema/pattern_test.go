package schema

import (
	"strings"
	"testing"
)

// FuzzPattern checks that no pattern causes a panic, and that a pattern without special syntax is not changed
// by the translation.
func FuzzPattern(f *testing.F) {
	for _, pattern := range []string{
		`[[:alpha:]][^]a]`, `\cJ\0\x41[\b]`, `\`, `(?:a|(?<n>b))+?`, `(?=a)`, `^[a-z0-9_-]{1,9}$`, `[a-\d]`, `^[\s\S]*\s\S.$`,
		`\p{Lu}\P{Script=Greek}\u{1F600}\ud83d\ude00`,
	} {
		f.Add(pattern)
	}
	f.Fuzz(func(t *testing.T, text string) {
		pattern := translator{source: text}
		err := pattern.translate()
		if translated := pattern.out.String(); !strings.ContainsAny(text, `\.[(`) && (err != nil || translated != text) {
			t.Errorf("%q becomes %q, %v", text, translated, err)
		}
	})
}
