package validate

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// maxBundle limits the length of a bundle in bytes of JSON.
const maxBundle = 64 << 20

// Bundle is a document in one file.
type Bundle struct {
	// Text is the document in YAML. If all references begin with #, it is the text that NewBundle got.
	Text []byte
	// JSON is the same document in JSON, without white space.
	JSON []byte

	name   string  // of the document
	places []place // of Text, in its order; nil if it is the text that NewBundle got
}

// place is where a name or value of a bundle was written.
type place struct{ at, source document.Position }

// NewBundle checks a document as [Load] does, and replaces its references to other documents.
//
// A path item takes the place of the first reference to it in paths or webhooks. Any other value becomes a component:
// the one that is nothing but a reference to the value, or else one with the last name in the fragment, or with the name
// of the file if there is no fragment. A name that two values would have is an error. What no reference leads to is left
// out, and so are the identifiers $id, $anchor and $schema, which no reference needs any more. A $dynamicRef is an error.
func NewBundle(text []byte, cfg Config) (*Bundle, error) {
	_, l, err := load(text, cfg)
	if err != nil {
		return nil, err
	}
	bundle, root := &Bundle{Text: text, name: l.name}, l.root
	if slices.ContainsFunc(l.links, func(link link) bool { return !strings.HasPrefix(link.from.Text, "#") }) {
		if root = newBundler(l).document(); root == nil {
			return nil, l.err()
		}
	}
	if bundle.JSON, err = root.AppendJSON(nil, maxBundle); err != nil {
		return nil, fmt.Errorf("validate: %s: the bundle %w", l.name, err)
	}
	if root == l.root {
		return bundle, nil
	}
	if bundle.Text, err = root.YAML(); err != nil {
		return nil, fmt.Errorf("validate: %s: %w", l.name, err)
	}
	bundle.Text = append([]byte("# Code generated from "+path.Base(l.name)+" and the files that it refers to. DO NOT EDIT.\n"), bundle.Text...)
	written, err := document.Parse(l.name, bundle.Text)
	if written == nil {
		return nil, err
	}
	bundle.locate(written, root)
	if tooDeep := document.Errors(nil); errors.As(err, &tooDeep) { // a component may be deeper than it was in its file
		for _, e := range tooDeep {
			at := bundle.Locate(e.Position.Line, e.Position.Column, "")
			l.fail(&document.Node{Position: document.Position{File: at.File, Line: at.Line, Column: at.Column}}, e.Detail)
		}
		return nil, l.err()
	}
	return bundle, nil
}

// locate records where the parts of a value of Text are from.
func (b *Bundle) locate(written, source *document.Node) {
	b.places = append(b.places, place{written.Position, source.Position})
	for i, m := range written.Members {
		b.places = append(b.places, place{m.Position, source.Members[i].Position})
		b.locate(m.Value, source.Members[i].Value)
	}
	for i, element := range written.Elements {
		b.locate(element, source.Elements[i])
	}
}

// Locate returns an error about a place in Text, located where the place was written: in a file that the document
// refers to, or in the document itself.
func (b *Bundle) Locate(line, column int, detail string) *DocumentError {
	at := document.Position{File: b.name, Line: line, Column: column}
	after, _ := slices.BinarySearchFunc(b.places, at, func(p place, at document.Position) int {
		return cmp.Or(cmp.Compare(p.at.Line, at.Line), cmp.Compare(p.at.Column, at.Column), -1)
	})
	if b.places != nil {
		at = b.places[max(after-1, 0)].source // or that of the value that contains the place
	}
	return &DocumentError{File: at.File, Line: at.Line, Column: at.Column, Detail: detail}
}
