// Studio is the client of Avatar Studio for the command line. "studio help" lists its commands.
//
// A flag goes before its twin in the environment (STUDIO_BASE_URL, STUDIO_EMAIL and STUDIO_PASSWORD or
// STUDIO_TOKEN, STUDIO_WORKSPACE, STUDIO_WEBHOOK_SECRET), and that before what "studio login" has kept: the
// tokens, not the password, in avatarstudio/credentials.json of the user's configuration directory. A file
// that others can open is refused. No secret is taken from the command line.
//
// Every command prints one JSON object per line with --json. Every creation has an idempotency key, which
// is printed when its outcome is unknown. Exit codes: 0 done; 1 failure; 2 bad input; 3 not logged in or
// not allowed; 4 no such avatar, video or lip-sync; 5 what was watched has failed or was refused consent;
// 130 interrupted.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(newProgram().Run(context.Background(), os.Args))
}
