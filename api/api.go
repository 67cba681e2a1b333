// Package api embeds the contract of the Avatar and Video Project Service.
package api

import "embed"

// Spec is the OpenAPI 3.1 document openapi.yaml, from which the code of this module is generated. Programs must not
// modify it.
//
//go:embed openapi.yaml
var Spec []byte

// Samples contains a program for each operation of Spec in four languages. The operation login, for
// example, has _samples/login.sh for curl, and login.go, login.ts and login.py. The programs read the
// address of the service, the access token and the workspace from the environment variables
// STUDIO_BASE_URL, STUDIO_TOKEN and STUDIO_WORKSPACE.
//
//go:embed _samples
var Samples embed.FS
