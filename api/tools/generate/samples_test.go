package main

import "testing"

func TestPythonLiteral_convertsOnlyConstants(t *testing.T) {
	t.Parallel()
	got := pythonLiteral(map[string]any{"true": true, "null": []any{nil, "null", "a: false"}, "text": ": false"})
	want := "{\n    \"null\": [\n        None,\n        \"null\",\n        \"a: false\"\n    ],\n    \"text\": \": false\",\n    \"true\": True\n}"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
