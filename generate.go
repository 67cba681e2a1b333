// Package avatarstudio is the root of the module: run "go generate" here after
// changing api/openapi.yaml.
package avatarstudio

//go:generate go run ./api/generate api/openapi.yaml
//go:generate go run ./server/validate/internal/document/embed api/openapi.yaml gen/document.gen.go
