// Package api holds the contract of the Avatar and Video Project Service.
package api

import _ "embed"

// Spec is openapi.yaml, the OpenAPI 3.1 document that everything else in this
// module follows from. It must not be modified.
//
//go:embed openapi.yaml
var Spec []byte
