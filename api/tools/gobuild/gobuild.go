// Package gobuild builds programs of this module for its tests and benchmarks. Package client and package server do not
// import each other, and the benchmarks are a separate module.
package gobuild

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Program returns the path of the executable of the main package with an import path. The executable is in the build
// cache of the go command: it is linked only after a change, and must not be changed or removed. All processes share
// it.
func Program(ctx context.Context, importPath string) (path string, err error) {
	root, err := Root(ctx)
	if err != nil {
		return "", err
	}
	return ProgramIn(ctx, root, importPath)
}

// ProgramIn is [Program] for a main package that the module in a directory requires. "go tool" would ignore -trimpath
// in GOFLAGS, and so compile the standard library again.
func ProgramIn(ctx context.Context, dir, importPath string) (path string, err error) {
	// "go run" caches the executable, which "go build" does not. It prints the path by "running" it with echo. After
	// linking it runs a temporary file, so the second run prints the path in the cache.
	for range 2 {
		if path, err = run(ctx, "run", "-C", dir, "-exec", "echo", importPath); err != nil {
			return "", fmt.Errorf("building %s: %w", importPath, err)
		}
		if _, err = os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("the go command does not cache %s (GOCACHE may be read-only)", importPath)
}

// Root returns the directory of this module.
func Root(ctx context.Context) (directory string, err error) {
	return run(ctx, "list", "-m", "-f", "{{.Dir}}", "github.com/avatarstudio/avatarstudio")
}

func run(ctx context.Context, args ...string) (output string, err error) {
	text, err := exec.CommandContext(ctx, "go", args...).Output() //nolint:gosec // a test names the program
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w: %s", err, failed.Stderr)
	}
	return strings.TrimSpace(string(text)), err
}
