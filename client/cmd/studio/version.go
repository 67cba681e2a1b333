package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v3"
)

func (p *program) versionCommand() *cli.Command {
	return leaf("version", "print the version and the Go version", "", "  studio version", nil, p.printVersion)
}

// version returns the version that the go command has stamped into the program: the tag of the commit, or its time and
// hash.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return cmp.Or(info.Main.Version, "(devel)")
	}
	return "(devel)"
}

func (p *program) printVersion(_ context.Context, command *cli.Command) error {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	if command.Bool("json") {
		return printValue(p.Stdout, map[string]string{"version": version(), "go": runtime.Version(), "platform": platform})
	}
	_, err := fmt.Fprintf(p.Stdout, "studio %s (%s, %s)\n", version(), runtime.Version(), platform)
	return err
}
