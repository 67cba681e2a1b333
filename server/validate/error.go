package validate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// Error is the error for a request, response or value that does not match the document. Its Status, Detail
// and Violations are safe to send to the caller.
type Error struct {
	// Status is 400, 413 or 415 for a request, 400 for a value, and 500 for a response. [Validator.Middleware] adds
	// 401, 404 and 405.
	Status int
	// Detail says what is wrong. It may contain a limit of the document, or the line and column of an error in JSON.
	Detail string
	// Violations lists violations by parameters, in the order of the document, and then by the body. Its
	// length is at most [MaxViolations]. If the body is not valid JSON, it has only those by parameters. If the body
	// cannot be read, is too large or has another media type, it is empty.
	Violations []Violation
	// Err is the error of reading the body or of [Config.Security], for logging only. It is nil if there is none.
	Err error
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Violation is a rule of the document that a value breaks at one location.
type Violation struct {
	// Pointer is a JSON pointer (RFC 6901) into the body, or "path:NAME", "query:NAME", "header:NAME" or "cookie:NAME"
	// followed by a pointer into that parameter, such as "query:filter/min". For a header of a part it is
	// "/PART/header:NAME". Names that are not in the document are replaced with "*".
	Pointer string `json:"pointer"`
	// Keyword is the schema keyword, or one of "duplicate", "case", "repeated", "escape", "style", "content"
	// for invalid JSON, and "contentType" for a part.
	Keyword string `json:"keyword"`
	// Detail describes what the rule requires.
	Detail string `json:"detail"`
}

func (e *Error) Error() string {
	var text strings.Builder
	text.WriteString("validate: ")
	text.WriteString(e.Detail)
	for _, v := range e.Violations {
		text.WriteString(" [" + v.Pointer + " " + v.Detail + "]")
	}
	return text.String()
}

// DocumentError is an error at one location of a document that [Load] rejects.
type DocumentError struct {
	File         string
	Line, Column int    // 1-based
	Pointer      string // JSON pointer (RFC 6901) into the document
	Detail       string
}

func documentError(e *document.Error) *DocumentError {
	return &DocumentError{e.Position.File, e.Position.Line, e.Position.Column, e.Pointer, e.Detail}
}

// documentErrors returns the error of Load.
func documentErrors(all []document.Error) error {
	errs := make([]error, len(all))
	for i := range all {
		errs[i] = documentError(&all[i])
	}
	return fmt.Errorf("validate: %w", errors.Join(errs...))
}

func (e *DocumentError) Error() string {
	return (&document.Error{Position: document.Position{File: e.File, Line: e.Line, Column: e.Column}, Pointer: e.Pointer, Detail: e.Detail}).Error()
}
