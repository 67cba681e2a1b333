package commandline

import (
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v3"
	"golang.org/x/term"
)

// Widths in the help of a command, in columns.
const (
	helpWidth   = 120 // or less on a terminal
	minWidth    = 60
	helpIndent  = 3
	optionWidth = 25 // a longer option has its text on the next line
)

// helpTemplate is the help of a command without subcommands. Its options follow.
const helpTemplate = `NAME:
   {{.FullName}}{{if .Usage}} - {{.Usage}}{{end}}

USAGE:
   {{template "usageTemplate" .}}{{if .Description}}

DESCRIPTION:
   {{template "descriptionTemplate" .}}{{end}}

`

// Group sorts the flags of a command into groups, which its help shows under their titles. A group is a title and the
// names of flags. Other flags come first and have no title.
func Group(command *cli.Command, groups ...[]string) *cli.Command {
	position := func(flag cli.Flag) int {
		return 1 + slices.IndexFunc(groups, func(group []string) bool { return slices.Contains(group[1:], flag.Names()[0]) })
	}
	slices.SortStableFunc(command.Flags, func(a, b cli.Flag) int { return position(a) - position(b) })
	for _, flag := range command.Flags {
		if i := position(flag); i > 0 {
			flag.(cli.CategorizableFlag).SetCategory(groups[i-1][0])
		}
	}
	return command
}

// columns returns the width of a help that is written to out.
func columns(out io.Writer) int {
	if file, ok := out.(*os.File); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			return max(minWidth, min(width, helpWidth))
		}
	}
	return helpWidth
}

// explainFlags gives a command without subcommands a help with its groups of flags, and booleans a default.
func explainFlags(command *cli.Command, width int) {
	for _, flag := range command.Flags {
		if flag, ok := flag.(*cli.BoolFlag); ok && flag.DefaultText == "" {
			flag.DefaultText = strconv.FormatBool(flag.Value)
		}
	}
	options := new(strings.Builder)
	options.WriteString("OPTIONS:\n")
	group := ""
	for _, flag := range command.VisibleFlags() {
		if title := groupOf(flag); title != group {
			group = title
			options.WriteString("\n" + strings.Repeat(" ", helpIndent) + title + ":\n")
		}
		name, text := describe(flag)
		writeOption(options, name, text, width)
	}
	writeOption(options, "--help, -h", "show help", width)
	command.CustomHelpTemplate = helpTemplate + strings.ReplaceAll(options.String(), "{{", `{{"{{"}}`)
}

func groupOf(flag cli.Flag) string { return flag.(cli.CategorizableFlag).GetCategory() }

// describe returns a flag with the name of its value, and its usage with its default and its environment variable.
func describe(flag cli.Flag) (name, text string) {
	name, text, _ = strings.Cut(flag.String(), "\t")
	name, _, _ = strings.Cut(name, " [ ") // the usage of a flag tells whether it can be repeated
	return name, text
}

// writeOption writes an option and its text in two columns.
func writeOption(to *strings.Builder, name, text string, width int) {
	const column = helpIndent + optionWidth + 2
	next := "\n" + strings.Repeat(" ", column)
	to.WriteString(strings.Repeat(" ", helpIndent) + name)
	at := helpIndent + len(name)
	for i, word := range strings.Fields(text) {
		length := utf8.RuneCountInString(word)
		switch {
		case i == 0 && at+2 <= column:
			to.WriteString(next[1+at:])
			at = column
		case i == 0, at+1+length > width:
			to.WriteString(next)
			at = column
		default:
			to.WriteByte(' ')
			at++
		}
		to.WriteString(word)
		at += length
	}
	to.WriteByte('\n')
}
