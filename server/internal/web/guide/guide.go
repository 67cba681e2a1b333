// Package guide is the manual of the service, with a file of Markdown for each page. The service shows the pages as
// HTML at /docs/guide, and "studiod help" and "studiod man" print them as text. Index.md lists the pages in their
// order, each with a summary.
package guide

import (
	"embed"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

//go:embed *.md
var files embed.FS

// indexName is the name of the page that lists the others.
const indexName = "index"

// Page is a page of the guide.
type Page struct {
	Name    string // of the file, without the extension, such as "operation"
	Title   string
	Summary string // a phrase

	source []byte
	root   ast.Node
}

// Pages returns the pages that the index lists.
func Pages() []Page {
	index := read(indexName)
	var pages []Page
	_ = ast.Walk(index.root, func(node ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if link, ok := node.(*ast.Link); ok && entering {
			page := read(strings.TrimSuffix(string(link.Destination), extension))
			_, summary, _ := strings.Cut(index.inline(link.Parent()), ": ")
			page.Summary = strings.ReplaceAll(summary, "\n", " ")
			pages = append(pages, page)
		}
		return ast.WalkContinue, nil
	})
	return pages
}

const extension = ".md"

// read parses a page. Headings get ids for links.
func read(name string) Page {
	source, err := files.ReadFile(name + extension)
	if err != nil {
		panic(err) // the program contains the files that its index lists, and tests read them all
	}
	markdown := parser.NewParser(parser.WithAutoHeadingID(),
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...))
	page := Page{Name: name, source: source, root: markdown.Parse(text.NewReader(source))}
	page.Title = page.inline(page.root.FirstChild())
	return page
}

// Markdown returns the source of the page.
func (p Page) Markdown() string { return string(p.source) }
