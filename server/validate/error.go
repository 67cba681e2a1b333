package validate

import "strings"

// Error says why a request, a response or a value does not match the document. All of it is safe
// to show to the caller.
type Error struct {
	// Status is 400, 413 or 415 for a request, 400 for a value and 500 for a response.
	Status int
	// Detail is a fixed text.
	Detail string
	// Violations are in the order of the parameters in the document, then of the body; at most
	// [MaxViolations]. A body that could not be read, or is no JSON, has none.
	Violations []Violation
	// Err is why the body could not be read, for the log alone, unless it is an answer in itself.
	Err error
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Violation is one rule that is broken in one place.
type Violation struct {
	// Pointer is a JSON pointer (RFC 6901) into the body, or "path:NAME", "query:NAME",
	// "header:NAME" or "cookie:NAME" with a pointer into that parameter, such as
	// "query:filter/min". A header of a part is "/PART/header:NAME". A member that the document does
	// not name is "*".
	Pointer string
	// Keyword is the broken keyword of the schema, or "duplicate", "case", "repeated", "escape",
	// "style", "content" for what is no JSON, or "contentType" of a part.
	Keyword string
	// Detail says what the rule asks for.
	Detail string
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
