//go:build !linux && !darwin

package render

import (
	"errors"
	"os/exec"
)

func becomeLimited(_, _ []string) error { return errors.ErrUnsupported }

// limitCommand does nothing. This system has neither limits nor process groups.
func limitCommand(*exec.Cmd, Limits) error { return nil }

// diskFull always returns false, because free disk space is not known on this system.
func diskFull(string) bool { return false }

func killGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }
