package main

import "testing"

const hostile = "\x1b[2J\x1b]0;title\a\x00\u009b31m\u202egro.elpmaxe\u2028\x7f\xff\r\n<b>&ü 世 🎬"

// Text from receivers must not control the terminal.
func assertHarmless(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && (r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x202e || r == 0x2028) {
			t.Errorf("%U is printed: %q", r, text)
		}
	}
}
