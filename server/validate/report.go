package validate

import (
	"cmp"
	"slices"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// fail reports an error at n.
func (l *loader) fail(n *document.Node, detail string) { l.report(n, detail, false) }

// required reports an error if n does not have a member.
func (l *loader) required(n *document.Node, name string) {
	if n.Get(name) == nil {
		l.fail(n, "must have the member "+name)
	}
}

// unsupported reports a part that is not supported. Lenient mode ignores such parts.
func (l *loader) unsupported(n *document.Node, detail string) {
	l.report(n, detail, l.lenient != nil)
}

func (l *loader) report(n *document.Node, detail string, ignored bool) {
	err := document.Error{Position: n.Position, Pointer: n.Pointer(), Detail: detail}
	switch {
	case l.known[err]:
	case ignored:
		l.lenient(&err)
	default:
		l.errs = append(l.errs, err)
	}
	l.known[err] = true
}

// sorted returns the errors in the order of the document.
func (l *loader) sorted() []document.Error {
	slices.SortStableFunc(l.errs, func(a, b document.Error) int {
		return cmp.Or(cmp.Compare(a.Position.File, b.Position.File), cmp.Compare(a.Position.Line, b.Position.Line),
			cmp.Compare(a.Position.Column, b.Position.Column))
	})
	return l.errs
}
