package validate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// DocumentError is an error at one location of a document that [Load] rejects.
type DocumentError struct {
	File         string
	Line, Column int    // 1-based
	Pointer      string // JSON pointer (RFC 6901) into the document
	Detail       string
}

func (e *DocumentError) Error() string {
	text := document.Position{File: e.File, Line: e.Line, Column: e.Column}.String() + ": "
	if e.Pointer != "" {
		text += e.Pointer + ": "
	}
	return text + e.Detail
}

// problems collects the errors of a document, each once.
type problems struct {
	lenient func(*DocumentError)
	known   map[DocumentError]bool
	errs    []DocumentError // returned by Load
}

// fail reports an error at n.
func (p *problems) fail(n *document.Node, detail string) { p.report(n, detail, false) }

// required reports an error if n does not have a member.
func (p *problems) required(n *document.Node, name string) {
	if n.Get(name) == nil {
		p.fail(n, "must have the member "+name)
	}
}

// unsupported reports a part that is not supported. Lenient mode ignores such parts.
func (p *problems) unsupported(n *document.Node, detail string) {
	p.report(n, detail, p.lenient != nil)
}

func (p *problems) report(n *document.Node, detail string, ignored bool) {
	at := n.Position
	err := DocumentError{File: at.File, Line: at.Line, Column: at.Column, Pointer: n.Pointer(), Detail: detail}
	switch {
	case p.known[err]:
	case ignored:
		p.lenient(&err)
	default:
		p.errs = append(p.errs, err)
	}
	p.known[err] = true
}

// err returns the errors in the order of the document, or nil.
func (p *problems) err() error {
	if len(p.errs) == 0 {
		return nil
	}
	slices.SortStableFunc(p.errs, func(a, b DocumentError) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	errs := make([]error, len(p.errs))
	for i := range p.errs {
		errs[i] = &p.errs[i]
	}
	return fmt.Errorf("validate: %w", errors.Join(errs...))
}
