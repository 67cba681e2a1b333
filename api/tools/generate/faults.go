package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

// faults collects what is wrong with a document.
type faults struct {
	file string // the document
	all  []*validate.DocumentError
}

// fail reports what is wrong with an element, once.
func (f *faults) fail(at openapi3.Location, format string, args ...any) {
	fault := &validate.DocumentError{File: f.file, Line: at.Line, Column: at.Column, Detail: fmt.Sprintf(format, args...)}
	if !slices.ContainsFunc(f.all, func(other *validate.DocumentError) bool { return *other == *fault }) {
		f.all = append(f.all, fault)
	}
}

// err returns the faults in the order of the document.
func (f *faults) err() error {
	slices.SortStableFunc(f.all, func(a, b *validate.DocumentError) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	var errs []error
	for _, fault := range f.all {
		errs = append(errs, fault)
	}
	return errors.Join(errs...)
}

// locate returns the location of one of the fields of an element if they are there, or else of the element or of a
// reference to it.
func locate(origin *openapi3.Origin, fields ...string) openapi3.Location {
	if origin == nil || origin.Key == nil {
		return openapi3.Location{Line: 1, Column: 1}
	}
	for _, name := range fields {
		if at, ok := origin.Fields.Lookup(name); ok {
			return at
		}
	}
	return *origin.Key
}

// originOf returns the origin of a reference, or of the schema that is in its place.
func originOf(ref *openapi3.SchemaRef) *openapi3.Origin {
	if ref.Ref != "" {
		return ref.Origin
	}
	return ref.Value.Origin
}
