package main

import (
	"context"
	"os"

	"github.com/avatarstudio/avatarstudio/server/internal/render"
)

// ballast makes garbage collections less frequent. A collection starts when the heap has doubled. The live objects
// of a daemon take about 5 MiB, so under load there would be 100 collections a second. The ballast counts as a live
// object, but no memory is allocated for its pages, because they are never accessed.
var ballast []byte

const ballastSize = 32 << 20

func main() {
	render.RunLimited()
	ballast = make([]byte, ballastSize)
	os.Exit(run(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr))
}
