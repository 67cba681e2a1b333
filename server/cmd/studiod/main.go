package main

import (
	"context"
	"os"

	"github.com/avatarstudio/avatarstudio/server/internal/api/passwords"
	"github.com/avatarstudio/avatarstudio/server/internal/render"
)

func main() {
	render.RunLimited()
	os.Exit(run(context.Background(), passwords.New(), os.Args, os.Stdin, os.Stdout, os.Stderr))
}
