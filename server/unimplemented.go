package server

import (
	"net/http"

	"github.com/avatarstudio/avatarstudio/gen"
)

// Unimplemented answers every operation with 501. Embed it to implement some of them.
type Unimplemented struct{}

var _ gen.StrictServerInterface = Unimplemented{}

var errUnimplemented = &Error{Status: http.StatusNotImplemented, Detail: "This service does not implement this operation."}
