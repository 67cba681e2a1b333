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
	return leaf("version", "print the version and the Go version", "", "  studio version", nil, p.version)
}

func (p *program) version(_ context.Context, command *cli.Command) error {
	version := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok { // the go command stamps the tag of the commit, or its time and hash
		version = cmp.Or(info.Main.Version, version)
	}
	platform := runtime.GOOS + "/" + runtime.GOARCH
	if command.Bool("json") {
		return printValue(p.Stdout, map[string]string{"version": version, "go": runtime.Version(), "platform": platform})
	}
	_, err := fmt.Fprintf(p.Stdout, "studio %s (%s, %s)\n", version, runtime.Version(), platform)
	return err
}
