//go:build tools

package avatarstudio

import _ "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen"
