//go:build !linux

package render

import (
	"context"
	"errors"
	"os/exec"
)

// sandbox is not available on this system.
type sandbox struct{ user int }

func newSandbox([]string) (*sandbox, error) { return nil, errors.New("this system has no namespaces") }

func (*sandbox) command(context.Context, string, string, []string) (*exec.Cmd, error) {
	return nil, errors.ErrUnsupported
}

func (*sandbox) give(string) error { return nil }

func supervise(int, []string) error { return errors.ErrUnsupported }
