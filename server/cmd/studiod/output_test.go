package main

import (
	"encoding/json"
	"strings"
	"testing"
)

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

// printed returns what a command prints with --json.
func printed[T any](t *testing.T, args ...string) (all []T) {
	t.Helper()
	for line := range strings.Lines(must(t, "", append(args, "--json")...)) {
		var one T
		check(t, json.Unmarshal([]byte(line), &one))
		all = append(all, one)
	}
	return all
}
