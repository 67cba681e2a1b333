package main

import (
	_ "embed"
	"strings"
)

//go:embed doc.go
var documentation string

// manual returns the package documentation, which "studiod help" prints.
func manual() string {
	comment, _, _ := strings.Cut(documentation, "\npackage main")
	var text strings.Builder
	for line := range strings.Lines(comment) {
		text.WriteString(strings.TrimPrefix(strings.TrimPrefix(line, "//"), " "))
	}
	return text.String()
}
