package document

import (
	"cmp"
	"slices"
)

const (
	needs32      = "needs OpenAPI 3.2"
	notSupported = "is a part of OpenAPI 3.2 that is not supported"
)

// Fail reports an error at n.
func (d *Document) Fail(n *Node, detail string) { d.report(n, detail, false) }

// required reports an error if n does not have a member.
func (d *Document) required(n *Node, name string) {
	if n.Get(name) == nil {
		d.Fail(n, "must have the member "+name)
	}
}

// Unsupported reports a part that is not supported. Lenient mode ignores such parts.
func (d *Document) Unsupported(n *Node, detail string) {
	d.report(n, detail, d.cfg.Lenient != nil)
}

func (d *Document) report(n *Node, detail string, ignored bool) {
	err := Error{Position: n.Position, Pointer: n.Pointer(), Detail: detail}
	switch {
	case d.known[err]:
	case ignored:
		d.cfg.Lenient(&err)
	default:
		d.errs = append(d.errs, err)
	}
	d.known[err] = true
}

// Errors returns the errors in the order of the document, each once.
func (d *Document) Errors() []Error {
	slices.SortStableFunc(d.errs, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.Position.File, b.Position.File), cmp.Compare(a.Position.Line, b.Position.Line),
			cmp.Compare(a.Position.Column, b.Position.Column))
	})
	return d.errs
}

// NotSupported reports a value that needs a part of OpenAPI 3.2 that is not supported.
func (d *Document) NotSupported(n *Node) { d.Unsupported(n, notSupported) }
