package validate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// DocumentError is a place in a document that [Load] refuses.
type DocumentError struct {
	File         string
	Line, Column int    // from 1
	Pointer      string // a JSON pointer (RFC 6901) into the document
	Detail       string
}

func (e *DocumentError) Error() string {
	text := document.Position{File: e.File, Line: e.Line, Column: e.Column}.String() + ": "
	if e.Pointer != "" {
		text += e.Pointer + ": "
	}
	return text + e.Detail
}

// problems collects what is wrong with a document, each place once.
type problems struct {
	lenient func(*DocumentError)
	errs    []DocumentError // that stop Load
	served  []DocumentError // that do not in lenient mode
}

func (p *problems) add(at document.Position, pointer, detail string) {
	err := DocumentError{File: at.File, Line: at.Line, Column: at.Column, Pointer: pointer, Detail: detail}
	if !slices.Contains(p.errs, err) {
		p.errs = append(p.errs, err)
	}
}

// fail reports what is wrong and cannot be served.
func (p *problems) fail(n *document.Node, detail string) { p.add(n.Position, n.Pointer(), detail) }

// failAt is fail for the name of a member.
func (p *problems) failAt(n *document.Node, m document.Member, detail string) {
	p.add(m.Position, n.Pointer()+"/"+document.Escape(m.Name), detail)
}

// refuse reports what is not supported, and can be left out in lenient mode.
func (p *problems) refuse(n *document.Node, detail string) {
	p.leaveOut(n.Position, n.Pointer(), detail)
}

// refuseAt is refuse for the name of a member.
func (p *problems) refuseAt(n *document.Node, m document.Member, detail string) {
	p.leaveOut(m.Position, n.Pointer()+"/"+document.Escape(m.Name), detail)
}

func (p *problems) leaveOut(at document.Position, pointer, detail string) {
	if p.lenient == nil {
		p.add(at, pointer, detail)
		return
	}
	err := DocumentError{File: at.File, Line: at.Line, Column: at.Column, Pointer: pointer, Detail: detail}
	if !slices.Contains(p.served, err) {
		p.served = append(p.served, err)
		p.lenient(&err)
	}
}

// err returns what stops Load, in the order of the document, or nil.
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
