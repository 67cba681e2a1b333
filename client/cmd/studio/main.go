// Studio is the command-line client of Avatar Studio. "studio help" lists its commands and exit codes.
//
// Flags override environment variables (STUDIO_BASE_URL, STUDIO_EMAIL and STUDIO_PASSWORD or STUDIO_TOKEN,
// STUDIO_WORKSPACE), and these override the login stored by "studio login". The file
// avatarstudio/credentials.json in the user's configuration directory has the login, with the tokens but not
// the password. Studio returns an error if other users can access the file. No flag or argument takes a
// secret.
//
// With --json, a command prints one JSON object per line, if it prints anything but a file. Every creation has an
// idempotency key. Studio prints the key if the outcome of the creation is unknown, or its output cannot be written.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(newProgram().Run(context.Background(), os.Args))
}
