//go:build !linux && !darwin

package render

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

func becomeLimited(_, _ []string) error { return errors.ErrUnsupported }

// limitCommand does nothing. This system has neither limits nor process groups.
func limitCommand(*exec.Cmd, Limits) error { return nil }

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

func killGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }
