package main

import (
	"context"
	"os"

	"github.com/avatarstudio/avatarstudio/server/internal/auth"
	"github.com/avatarstudio/avatarstudio/server/internal/render"
)

func main() {
	render.RunLimited()
	os.Exit(run(context.Background(), auth.NewPasswords(), os.Args, os.Stdin, os.Stdout, os.Stderr))
}
