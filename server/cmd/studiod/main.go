// Studiod serves Avatar Studio: the contract in api/openapi.yaml, kept in a database, with
// signed webhooks. "studiod help" lists its commands.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr))
}
