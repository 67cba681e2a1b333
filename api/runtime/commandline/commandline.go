// Package commandline is what the command lines of studiod and studio have in common.
package commandline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v3"
)

// UsageError reports invalid input that an action found, such as a malformed value or a missing record.
type UsageError struct{ error }

// Unwrap returns the cause.
func (e UsageError) Unwrap() error { return e.error }

// Usage returns err as a [UsageError].
func Usage(err error) error { return UsageError{err} }

// Usagef returns a [UsageError] with a text.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// FailureError reports a failure of an action whose input was valid. All other errors, such as those of the flag
// parser, are usage errors.
type FailureError struct{ error }

// Unwrap returns the cause.
func (e FailureError) Unwrap() error { return e.error }

// Prepare sets the input, the outputs and the version of a root command. Its commands return usage errors instead of
// printing help, and its groups reject unknown subcommands. The errors suggest the most similar name. An argument that
// is not UTF-8 is a usage error, also if it names a file. The hidden commands completion and man print scripts for
// shells and the manual page.
func Prepare(root *cli.Command, stdin io.Reader, stdout, stderr io.Writer) {
	root.Reader, root.Writer, root.ErrWriter = stdin, stdout, stderr
	root.Version, root.EnableShellCompletion = Version(), true
	root.ExitErrHandler = func(context.Context, *cli.Command, error) {} // the caller prints errors and chooses the exit code
	root.Before = func(ctx context.Context, command *cli.Command) (context.Context, error) {
		for i, argument := range command.Args().Slice() { // which may contain a password
			if !utf8.ValidString(argument) { // JSON would change it
				return ctx, Usagef("argument %d must be UTF-8", i+1)
			}
		}
		return ctx, nil
	}
	root.ConfigureShellCompletionCommand = func(completion *cli.Command) {
		completion.Commands[0] = Leaf("bash", "Output bash completion script", "", nil, func(context.Context, *cli.Command) error {
			_, err := fmt.Fprintf(stdout, bashCompletion, root.Name)
			return err
		})
	}
	root.Commands = append(root.Commands, manCommand(root))
	suggest(root, columns(stdout))
}

// Run runs a command line. It returns the error, and its text in one line. An output of the root command that could not
// be written, such as its help, is a [FailureError].
func Run(ctx context.Context, root *cli.Command, args []string) (line string, err error) {
	out := &output{Writer: root.Writer}
	root.Writer = out
	err = root.Run(ctx, args)
	if _, unknown := err.(cli.ExitCoder); unknown { //nolint:errorlint // --help of no command, which package cli wraps nowhere
		err = showHelp(ctx, root, slices.DeleteFunc(slices.Clone(args[1:]), func(arg string) bool { return strings.HasPrefix(arg, "-") }))
	}
	if out.err != nil && !errors.As(err, new(FailureError)) {
		err = FailureError{out.err}
	}
	if err != nil {
		line = lineOf(err)
	}
	return line, err
}

// output keeps the first error of a write, because package cli drops those of a help.
type output struct {
	io.Writer

	err error
}

func (o *output) Write(text []byte) (n int, err error) {
	n, err = o.Writer.Write(text)
	o.err = cmp.Or(o.err, err)
	return n, err
}

// bashCompletion is the script for bash. That of package cli evaluates what is typed, which runs $(…) and overwrites
// the file after >, and it needs the package bash-completion.
const bashCompletion = `_%[1]s() {
	local word=${COMP_WORDS[COMP_CWORD]} words=("${COMP_WORDS[@]:0:COMP_CWORD}") line
	COMPREPLY=()
	words[0]=${words[0]/#\~\//$HOME/}
	[[ $word == -* ]] && words+=("$word")
	while IFS= read -r line; do
		[[ ( $word || $line != -* ) && $line == "$word"* ]] && COMPREPLY+=("${line%%%%:*}")
	done < <("${words[@]}" --generate-shell-completion 2>/dev/null </dev/null)
}
complete -o bashdefault -o default -F _%[1]s %[1]s
`

func suggest(command *cli.Command, width int) {
	command.OnUsageError = func(ctx context.Context, command *cli.Command, err error, _ bool) error {
		if names := command.Args(); len(command.Commands) > 0 && names.Present() { // the flag is of the command that was meant
			return showHelp(ctx, command, names.Slice())
		}
		text, hint := err.Error(), ";" // package cli has no other way to tell what is wrong
		if name, unknown := strings.CutPrefix(text, "flag provided but not defined: "); unknown {
			name = strings.TrimLeft(name, "-")
			text, hint = "unknown flag "+"--"[:min(len(name), 2)]+name, suggestion(name, cli.SuggestFlag(command.Flags, name, false))
		} else if name, missing := strings.CutPrefix(text, "Required flag "); missing {
			text = "missing flag --" + strings.Trim(strings.TrimSuffix(name, " not set"), `"`)
		}
		return fmt.Errorf("%s%s see %s --help", text, hint, command.FullName())
	}
	if group := command; len(group.Commands) > 0 {
		group.Action = func(ctx context.Context, command *cli.Command) error {
			return showHelp(ctx, group, command.Args().Slice())
		}
		help := Leaf("help", "show the help of a command", "[COMMAND...]", nil, group.Action)
		help.Aliases = []string{"h"}
		help.ShellComplete = func(_ context.Context, command *cli.Command) {
			of := group
			for _, name := range command.Args().Slice() {
				of = cmp.Or(of.Command(name), of)
			}
			for _, child := range of.VisibleCommands() {
				_, _ = fmt.Fprintf(command.Root().Writer, "%s:%s\n", child.Name, child.Usage)
			}
		}
		group.Commands = append(group.Commands, help)
	}
	for _, child := range command.Commands {
		suggest(child, width)
	}
	if len(command.Commands) == 0 && command.CustomHelpTemplate == "" {
		explainFlags(command, width)
	}
}

// showHelp shows the help of a command below group, or without names that of group.
func showHelp(ctx context.Context, group *cli.Command, names []string) error {
	show := func() error { return cli.ShowSubcommandHelp(group) }
	if group == group.Root() {
		show = func() error { return cli.ShowRootCommandHelp(group) }
	}
	for _, name := range names {
		parent, child := group, group.Command(name)
		if child == nil {
			return Usagef("unknown command %q%s see %s --help", name, suggestion(name, cli.SuggestCommand(parent.Commands, name)), parent.FullName())
		}
		group, show = child, func() error { return cli.ShowCommandHelp(ctx, parent, name) }
	}
	return show()
}

// suggestion returns the part of an error that suggests a similar name, which package cli finds for any name. Few
// mistype the first letter.
func suggestion(name, similar string) string {
	if word := strings.TrimLeft(similar, "-"); name == "" || word == "" || len(word) == 1 || word[0] != name[0] {
		return ";"
	}
	return "; did you mean " + similar + "?"
}

// Leaf returns a command without subcommands. argsUsage contains the names of its arguments. Arguments in brackets are
// optional, and one with three dots may be repeated. None may be empty. Errors of the action become a [FailureError],
// unless they are a [UsageError].
func Leaf(name, usage, argsUsage string, flags []cli.Flag, action cli.ActionFunc) *cli.Command {
	maxArgs := len(strings.Fields(argsUsage))
	minArgs := maxArgs - strings.Count(argsUsage, "[")
	if strings.Contains(argsUsage, "...") {
		maxArgs = math.MaxInt
	}
	return &cli.Command{
		Name: name, Usage: usage, ArgsUsage: argsUsage, Flags: flags, HideHelpCommand: true, // help may be an argument
		CommandNotFound: func(ctx context.Context, command *cli.Command, _ string) { // an argument beside --help
			_ = cli.ShowCommandHelp(ctx, command.Lineage()[1], command.Name)
		},
		Action: func(ctx context.Context, command *cli.Command) error {
			given := command.Args().Slice()
			if len(given) < minArgs || len(given) > maxArgs || slices.Contains(given, "") {
				return Usagef("usage: %s; see --help", strings.TrimSpace(command.FullName()+" "+argsUsage))
			}
			err := action(ctx, command)
			if err == nil || errors.As(err, new(UsageError)) {
				return err
			}
			return FailureError{err}
		},
	}
}

// topicCategory is the category of topics.
const topicCategory = "TOPICS"

// Topic returns a command that prints a text in the syntax of Go doc comments, such as a page of a manual. The help
// lists it after the commands, and the manual page contains the text.
func Topic(name, summary, text string) *cli.Command {
	return &cli.Command{Name: name, Usage: summary, Description: text, Category: topicCategory, CustomHelpTemplate: "{{.Description}}", HideHelp: true}
}

// lineOf returns the text of an error as one line, without the value of a flag where package cli quotes it whole: it
// may contain a password. The unit of a duration remains, which its error also quotes. What package cli says of
// numbers, durations and booleans in the terms of Go becomes what they must be.
func lineOf(err error) string {
	text := err.Error()
	begin, rest, _ := strings.Cut(text, " \"")
	value, invalid := strconv.QuotedPrefix(`"` + rest)
	if invalid == nil && (begin == "invalid value" || begin == "could not parse") {
		text = strings.NewReplacer("strconv.ParseInt: parsing "+value+": invalid syntax", "must be a whole number",
			"strconv.ParseFloat: parsing "+value+": invalid syntax", "must be a number", "parse error", "must be true or false",
			"time: invalid duration", "must be a time such as 15m", "time: missing unit in duration", "must have a unit, such as 15m", "time: unknown", "unknown",
			"strconv.ParseInt: parsing "+value+": ", "", "strconv.ParseFloat: parsing "+value+": ", "", " "+value, "", "for flag -", "for flag --").Replace(text)
	}
	return strings.Join(strings.Fields(text), " ")
}

// Version returns the version that the go command has stamped into the program: the tag of the commit, its time and
// hash, or "(devel)".
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return cmp.Or(info.Main.Version, "(devel)")
	}
	return "(devel)"
}
