package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDocComments_areSentences(t *testing.T) {
	t.Parallel()
	for before, want := range map[string]string{
		"// Avatar An avatar.\ntype Avatar struct {":                            "// Avatar is an avatar.\ntype Avatar struct {",
		"// Tags The labels.\ntype Tags struct {":                               "// Tags are the labels.\ntype Tags struct {",
		"// State The state.\n//\n//\n// Examples: a\ntype State = string":      "// State is the state.\n//\n// Examples: a\ntype State = string",
		"\t// AvatarID Id of the avatar.\n\tAvatarID string":                    "\t// Id of the avatar.\n\tAvatarID string",
		"\t// GetAvatar Read an avatar\n\t// (GET /a)\n\tGetAvatar(w Writer)":   "\t// GetAvatar: read an avatar\n\t// (GET /a)\n\tGetAvatar(w Writer)",
		"// GetAvatar Read an avatar\nfunc (c *Client) GetAvatar(a string) {":   "// GetAvatar: read an avatar\nfunc (c *Client) GetAvatar(a string) {",
		"// Valid indicates that.\nfunc (e State) Valid() bool {":               "// Valid indicates that.\nfunc (e State) Valid() bool {",
		"// Status Ready or not.\ntype Status string":                           "// Status Ready or not.\ntype Status string",
		"// Other An avatar.\ntype Avatar struct {":                             "// Other An avatar.\ntype Avatar struct {",
		"// Mode The mode.\n//\n// - a: one.\ntype Mode string":                 "// Mode is the mode.\n//\n//   - a: one.\ntype Mode string",
		"// Avatar An avatar.":                                                  "// Avatar An avatar.",
		"}\n\n// ID defines model for ID.\n//\n// Deprecated: no.\ntype ID":     "}\n\n// Deprecated: no.\ntype ID",
		"// GetParams defines parameters for Get.\ntype GetParams":              "// GetParams are the parameters of Get.\ntype GetParams",
		"// LogJSONBody defines body for Log for application/json ContentType.": "// LogJSONBody is a body of Log.",
	} {
		if diff := cmp.Diff(want, docComments(before)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", before, diff)
		}
	}
}
