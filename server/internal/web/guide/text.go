package guide

import (
	"fmt"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// Text returns the page as text with the syntax of Go doc comments. The title is in capital letters. Links to other
// pages have no address.
func (p Page) Text() string {
	var out strings.Builder
	for block := p.root.FirstChild(); block != nil; block = block.NextSibling() {
		if block.PreviousSibling() != nil {
			out.WriteByte('\n')
		}
		switch block := block.(type) {
		case *ast.Heading:
			heading := p.inline(block)
			if block.Level == 1 {
				heading = strings.ToUpper(heading)
			}
			out.WriteString("# " + heading + "\n")
		case *ast.List:
			for item := block.FirstChild(); item != nil; item = item.NextSibling() {
				out.WriteString("  - " + indent(p.inline(item))[4:])
			}
		case *ast.FencedCodeBlock:
			out.WriteString(indent(strings.ReplaceAll(string(block.Lines().Value(p.source)), "\t", "    ")))
		default:
			out.WriteString(p.inline(block) + "\n")
		}
	}
	return out.String()
}

// indent returns lines with four spaces before each.
func indent(lines string) string {
	var out strings.Builder
	for line := range strings.Lines(lines) {
		out.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
	}
	return out.String()
}

// inline returns the text in node. It keeps the line breaks.
func (p Page) inline(node ast.Node) string {
	var out strings.Builder
	_ = ast.Walk(node, func(node ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		switch node := node.(type) {
		case *ast.Text:
			if entering {
				out.Write(node.Value(p.source))
				if node.SoftLineBreak() {
					out.WriteByte('\n')
				}
			}
		case *ast.AutoLink:
			if entering {
				out.Write(node.URL(p.source))
			}
		case *ast.Link:
			if url := string(node.Destination); !entering && strings.HasPrefix(url, "https:") {
				fmt.Fprintf(&out, " (%s)", url)
			}
		}
		return ast.WalkContinue, nil
	})
	return out.String()
}
