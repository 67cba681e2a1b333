package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
)

func (p *program) versionCommand() *cli.Command {
	return leaf("version", "print the version and the Go version", "", "  studio version", nil, p.printVersion)
}

func (p *program) printVersion(_ context.Context, command *cli.Command) error {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	if command.Bool("json") {
		return commandline.PrintJSON(p.Stdout, map[string]string{"version": commandline.Version(), "go": runtime.Version(), "platform": platform})
	}
	_, err := fmt.Fprintf(p.Stdout, "studio %s (%s, %s)\n", commandline.Version(), runtime.Version(), platform)
	return err
}
