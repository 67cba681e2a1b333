package main

import (
	"regexp"

	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"
)

// The parts of a name, and a first letter that is neither upper nor lower case.
var (
	namePart = regexp.MustCompile(`[\p{Lo}\p{Lm}\p{Lt}]|[^\p{Lo}\p{Lm}\p{Lt}]+`)
	uncased  = regexp.MustCompile(`^[\p{Lo}\p{Lm}\p{Lt}]`)
)

// goName converts a name of the document to a Go name in camel case. Letters without case, such as 名, are kept, and get
// the prefix X where they would begin a name, which would not be exported.
func goName(name string) string {
	name = namePart.ReplaceAllStringFunc(name, func(part string) string {
		if uncased.MatchString(part) {
			return part
		}
		return codegen.ToCamelCaseWithInitialisms(part)
	})
	return uncased.ReplaceAllString(name, "X$0")
}
