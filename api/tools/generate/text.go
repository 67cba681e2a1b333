package main

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"unicode"

	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"
)

// qualify prefixes the names of package gen in a type with "gen.".
func qualify(declaration string) string {
	expression := must(parser.ParseExpr(declaration))
	foreign := map[*ast.Ident]bool{}
	ast.Inspect(expression, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			foreign[n.Sel] = true
		case *ast.Field:
			for _, name := range n.Names {
				foreign[name] = true
			}
		case *ast.Ident:
			if n.IsExported() && !foreign[n] {
				n.Name = "gen." + n.Name
			}
		}
		return true
	})
	var text strings.Builder
	check(printer.Fprint(&text, token.NewFileSet(), expression))
	return text.String()
}

// argument converts the name of a field to the name of an argument: AvatarID becomes avatarID, and URL
// becomes url.
func argument(field string) string {
	name := []rune(field)
	upper := 0
	for upper < len(name) && unicode.IsUpper(name[upper]) {
		upper++
	}
	if upper > 1 && upper < len(name) {
		upper-- // the last capital letter begins the next word
	}
	for i := range upper {
		name[i] = unicode.ToLower(name[i])
	}
	if isTaken(string(name), "body c call client contentType context ctx decode decodeNone decodePlain decodeStream decodeText err fmt gen http io iter json log"+
		" openapi_types operation operations optional options os params paramsOf request response result stream streamEvents streamItems studio style time") {
		return string(name) + "Value"
	}
	return string(name)
}

// isTaken reports whether a generated function cannot have a variable with this name, because it is predeclared or one
// of the names of packages and of other variables.
func isTaken(name, others string) bool {
	return token.IsKeyword(name) || types.Universe.Lookup(name) != nil || hasWord(others, name)
}

// afterColon returns a summary, if any, as the second part of a sentence, in one line.
func afterColon(summary string) string {
	if summary = strings.Join(strings.Fields(summary), " "); summary == "" {
		return ""
	}
	return ": " + codegen.LowercaseFirstCharacter(strings.TrimSuffix(summary, "."))
}

// comment wraps a description into the lines of a Go comment.
func comment(text string) []string {
	const width = 100
	var lines []string
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		line := ""
		for word := range strings.FieldsSeq(paragraph) {
			if line != "" && len(line)+1+len(word) > width {
				lines, line = append(lines, line), ""
			}
			line = strings.TrimSpace(line + " " + word)
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// hasWord reports whether a list of words, which are separated by white space, has a word.
func hasWord(list, word string) bool { return slices.Contains(strings.Fields(list), word) }
