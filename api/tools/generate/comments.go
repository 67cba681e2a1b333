package main

import (
	"regexp"
	"strings"

	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"
)

var (
	namedComment = regexp.MustCompile(`^(\t*// )(\w+) ([A-Z].*)$`)
	declaration  = regexp.MustCompile(`^\t*(type |func (?:\([^)]*\) )?)?(\w+)(\(?)`)
	articled     = regexp.MustCompile(`^(A|An|The) `)
)

// docComments rewrites the comments of oapi-codegen, which put a name in front of a description, as sentences:
//
//   - "Avatar An avatar." of a type becomes "Avatar is an avatar."
//   - "AvatarID Id of the avatar." of a field becomes "Id of the avatar."
//   - "GetAvatar Read an avatar" of a function becomes "GetAvatar: read an avatar"
//
// It also indents lists and removes repeated empty lines and what says nothing.
func docComments(code string) string {
	for _, part := range [][2]string{
		{`(?m)^(\t*//\n)(?:\t*//\n)+`, "$1"},
		{`(?m)^(\t*//) - `, "$1   - "},
		{`(?m)^// \S+ defines model for \S+\.\n(?://\n)?`, ""}, // says no more than the name
		{`(?m)^(// \S+Params) defines parameters for`, "$1 are the parameters of"},
		{`(?m)^(// \S+Body) defines \w+ for (\S+?)(?: for \S+ ContentType)?\.$`, "$1 is a body of $2."},
	} {
		code = regexp.MustCompile(part[0]).ReplaceAllString(code, part[1])
	}
	lines := strings.Split(code, "\n")
	for i, line := range lines {
		comment := namedComment.FindStringSubmatch(line)
		if comment == nil || i > 0 && isComment(lines[i-1]) {
			continue
		}
		end := i
		for end < len(lines) && isComment(lines[end]) {
			end++
		}
		declared := declaration.FindStringSubmatch(strings.Join(lines[end:min(end+1, len(lines))], ""))
		if declared == nil || declared[2] != comment[2] {
			continue
		}
		name, text := comment[2], comment[3]
		switch keyword := declared[1]; {
		case keyword == "type " && articled.MatchString(text):
			lines[i] = comment[1] + name + verb(name) + codegen.LowercaseFirstCharacter(text)
		case keyword == "" && declared[3] == "":
			lines[i] = comment[1] + text
		case keyword != "type ":
			lines[i] = comment[1] + name + ": " + codegen.LowercaseFirstCharacter(text)
		}
	}
	return strings.Join(lines, "\n")
}

func isComment(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, "\t"), "//") }

// verb returns the verb for the name of a type, which may be a plural.
func verb(name string) string {
	if strings.HasSuffix(name, "s") && !strings.HasSuffix(name, "ss") && !strings.HasSuffix(name, "us") {
		return " are "
	}
	return " is "
}
