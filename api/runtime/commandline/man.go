package commandline

import (
	"cmp"
	"context"
	"fmt"
	"go/doc/comment"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"
)

// manCommand returns the command that prints the manual page of root. The page consists of the texts of the help.
func manCommand(root *cli.Command) *cli.Command {
	command := Leaf("man", "print the manual page in the format of man", "", nil, func(context.Context, *cli.Command) error {
		_, err := io.WriteString(root.Writer, manPage(root))
		return err
	})
	command.Hidden, command.Description = true, "Examples:\n  "+root.Name+" man | man -l -"
	return command
}

// page is a manual page in roff.
type page struct{ strings.Builder }

func manPage(root *cli.Command) string {
	var p page
	p.macro("TH", strings.ToUpper(root.Name), "1", "", root.Version, root.Name)
	p.WriteString(".ad l\n") // adjusted lines with long words such as URLs have gaps
	p.macro("SH", "NAME")
	p.text(root.Name + " - " + root.Usage)
	p.macro("SH", "SYNOPSIS")
	p.text(cmp.Or(root.UsageText, root.Name+" COMMAND [OPTIONS] [ARGUMENTS]"))
	p.macro("SH", "DESCRIPTION")
	p.document(root.Description)
	for _, command := range root.Commands {
		if command.Category == topicCategory {
			p.document(command.Description)
		}
	}
	p.macro("SH", "COMMANDS")
	p.commands(root, root.Name)
	return p.String()
}

// commands describes the commands below parent.
func (p *page) commands(parent *cli.Command, path string) {
	for _, command := range parent.VisibleCommands() {
		name := path + " " + command.Name
		if len(command.VisibleCommands()) == 0 && command.Category != topicCategory {
			p.macro("SS", strings.TrimSpace(name+" "+command.ArgsUsage))
			p.document(command.Usage)
			p.document(command.Description)
			p.flags(command.VisibleFlags())
		}
		p.commands(command, name)
	}
}

func (p *page) flags(flags []cli.Flag) {
	group := ""
	for _, flag := range flags {
		if slices.Contains(flag.Names(), "help") { // every command has it
			continue
		}
		if title := groupOf(flag); title != group {
			group = title
			p.macro("PP")
			p.text(title + ":")
		}
		option, usage := describe(flag)
		p.macro("TP")
		p.text(option)
		p.text(usage)
	}
}

// document writes text in the syntax of doc comments. Its first heading begins a section, and the others subsections.
func (p *page) document(text string) {
	macro := "SH"
	for _, block := range new(comment.Parser).Parse(text).Content {
		switch block := block.(type) {
		case *comment.Heading:
			p.macro(macro, plain(&comment.Paragraph{Text: block.Text}))
			macro = "SS"
		case *comment.Code:
			p.paragraph()
			p.macro("RS", "4")
			p.macro("nf")
			p.text(block.Text)
			p.macro("fi")
			p.macro("RE")
		case *comment.List:
			for _, item := range block.Items {
				p.macro("IP", cmp.Or(item.Number, "•"), "2")
				p.text(plain(item.Content...))
			}
		default:
			p.paragraph()
			p.text(plain(block))
		}
	}
}

// paragraph begins a paragraph. After a heading, one has begun.
func (p *page) paragraph() {
	if page := p.String(); !strings.HasPrefix(page[strings.LastIndex(page[:len(page)-1], "\n")+1:], ".S") {
		p.macro("PP")
	}
}

// plain returns blocks as text with one line for each paragraph.
func plain(blocks ...comment.Block) string {
	printer := comment.Printer{TextWidth: -1}
	return string(printer.Text(&comment.Doc{Content: blocks}))
}

// escape returns text as roff prints it.
func escape(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, `"`, `\(dq`, "'", `\(aq`, "`", "\\`", "^", `\(ha`, "~", `\(ti`).Replace(text)
}

func (p *page) macro(name string, args ...string) {
	p.WriteString("." + name)
	for _, arg := range args {
		fmt.Fprintf(p, " \"%s\"", escape(strings.TrimSpace(arg)))
	}
	p.WriteByte('\n')
}

// text writes lines. Without \&, a line that begins with a dot is a macro.
func (p *page) text(text string) {
	for line := range strings.Lines(strings.TrimSpace(text)) {
		p.WriteString(`\&` + escape(strings.TrimRight(line, "\n")) + "\n")
	}
}
