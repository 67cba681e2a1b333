package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
)

func versionCommand() *cli.Command {
	return commandline.Leaf("version", "print the version and the Go version", "", nil, func(_ context.Context, command *cli.Command) error {
		return printLines(command, fmt.Sprintf("studiod %s (%s, %s/%s)", commandline.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH))
	})
}
