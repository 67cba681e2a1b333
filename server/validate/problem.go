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

// isNew returns an error, and reports whether it is added for the first time.
func (p *problems) isNew(at document.Position, pointer, detail string) (err DocumentError, ok bool) {
	err = DocumentError{File: at.File, Line: at.Line, Column: at.Column, Pointer: pointer, Detail: detail}
	if p.known == nil {
		p.known = make(map[DocumentError]bool)
	}
	ok = !p.known[err]
	p.known[err] = true
	return err, ok
}

func (p *problems) add(at document.Position, pointer, detail string) {
	if err, ok := p.isNew(at, pointer, detail); ok {
		p.errs = append(p.errs, err)
	}
}

// fail reports an error.
func (p *problems) fail(n *document.Node, detail string) { p.add(n.Position, n.Pointer(), detail) }

// failAt is fail for the name of a member.
func (p *problems) failAt(n *document.Node, m document.Member, detail string) {
	p.add(m.Position, n.Pointer()+"/"+document.Escape(m.Name), detail)
}

// unsupported reports a part that is not supported. Lenient mode ignores such parts.
func (p *problems) unsupported(n *document.Node, detail string) {
	p.addUnsupported(n.Position, n.Pointer(), detail)
}

// unsupportedAt is unsupported for the name of a member.
func (p *problems) unsupportedAt(n *document.Node, m document.Member, detail string) {
	p.addUnsupported(m.Position, n.Pointer()+"/"+document.Escape(m.Name), detail)
}

func (p *problems) addUnsupported(at document.Position, pointer, detail string) {
	if p.lenient == nil {
		p.add(at, pointer, detail)
		return
	}
	if err, ok := p.isNew(at, pointer, detail); ok {
		p.lenient(&err)
	}
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
