//go:build !linux && !darwin

package render

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// machineMemory returns 0, which means unknown. This system has no limits.
func machineMemory() int64 { return 0 }

func becomeLimited(string, []string, []string) error { return errors.ErrUnsupported }

// command returns a command without limits. This system has neither limits nor process groups.
func (*program) command(ctx context.Context, dir string, line []string) (*exec.Cmd, error) {
	cmd := exec.CommandContext(ctx, line[0], line[1:]...) //nolint:gosec // the program that the operator named
	cmd.Dir, cmd.Env = dir, environment(dir)
	return cmd, nil
}

func (*program) user() int { return os.Geteuid() }

// openResult opens a file that the program has written to dir. The file must be regular and not empty.
func openResult(dir, name string, _ int) (*os.File, error) {
	path := filepath.Join(dir, name)
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil, errors.Join(errNotResult, err)
	}
	return os.Open(path)
}

// diskFull always returns false, because free disk space is not known on this system.
func diskFull(string) bool { return false }
