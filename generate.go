// Package avatarstudio is the root of the module: run "go generate" here after
// changing api/openapi.yaml.
package avatarstudio

//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen --config api/gen-models.yaml api/openapi.yaml
//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen --config api/gen-client.yaml api/openapi.yaml
//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen --config api/gen-server.yaml api/openapi.yaml
