// Package avatarstudio is the root of the module. It has no code, only the commands of "go generate" that
// generate the module from api/openapi.yaml.
package avatarstudio

//go:generate go run ./api/tools/generate api/openapi.yaml
