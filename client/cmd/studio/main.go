// Studio is the command-line client of Avatar Studio. "studio help" lists its commands.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(newProgram().Run(context.Background(), os.Args))
}
