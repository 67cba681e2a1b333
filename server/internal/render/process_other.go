//go:build !linux && !darwin

package render

import (
	"errors"
	"os/exec"
)

func becomeLimited(_, _ []string) error { return errors.ErrUnsupported }

// command leaves cmd as it is: there are neither limits nor process groups.
func command(*exec.Cmd, Limits) error { return nil }

// full is not known.
func full(string) bool { return false }

func killGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }
