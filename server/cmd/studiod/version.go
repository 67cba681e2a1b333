package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v3"
)

func versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print the version and the Go version",
		Action: func(_ context.Context, command *cli.Command) error {
			if command.Args().Present() {
				return usagef("usage: %s; see --help", command.FullName())
			}
			_, err := fmt.Fprintf(command.Root().Writer, "studiod %s (%s, %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// version returns the version that the go command has stamped into the program: the tag of the commit, or
// its time and hash.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
