package server

import (
	"net/http"

	"github.com/avatarstudio/avatarstudio/gen"
)

// Unimplemented responds to all operations with 501. Embed it to implement only some operations.
type Unimplemented struct{}

var _ gen.StrictServerInterface = Unimplemented{}

var errUnimplemented = &Error{Status: http.StatusNotImplemented, Detail: "This service does not implement this operation."}
