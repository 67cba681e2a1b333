// Package bench compares server.New with other ways to serve the contract, in process and over loopback. All variants
// are measured alternately in one run.
package bench

// The server of ogen is not in the repository, because it is thousands of lines. "make bench" and
// "make check-bench" generate it from the contract. "go tool" would ignore -trimpath in GOFLAGS.

//go:generate go run ./derive -o ogenapi/openapi.json
//go:generate go run github.com/ogen-go/ogen/cmd/ogen --loglevel error --config ogenapi/ogen.yml --target ogenapi --package ogenapi --clean ogenapi/openapi.json
