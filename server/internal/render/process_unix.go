//go:build linux || darwin

package render

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// becomeLimited sets the limits that limitedArgs wrote and replaces this process. It returns only
// when it cannot.
func becomeLimited(limits, program []string) error {
	for i, resource := range []int{syscall.RLIMIT_CPU, syscall.RLIMIT_DATA, syscall.RLIMIT_FSIZE, syscall.RLIMIT_NOFILE} {
		n, err := strconv.ParseInt(limits[i], 10, 64)
		if err != nil {
			return err
		}
		if n > 0 {
			if err := limit(resource, uint64(n)); err != nil {
				return err
			}
		}
	}
	if err := limit(syscall.RLIMIT_CORE, 0); err != nil {
		return err
	}
	err := syscall.Exec(program[0], program, os.Environ()) //nolint:gosec // the program that the operator named
	return fmt.Errorf("%s: %w", program[0], err)
}

// limit sets a limit, or leaves a stricter one.
func limit(resource int, n uint64) error {
	var current syscall.Rlimit
	if err := syscall.Getrlimit(resource, &current); err != nil {
		return err
	}
	n = min(n, current.Max)
	return syscall.Setrlimit(resource, &syscall.Rlimit{Cur: n, Max: n})
}

// command runs a program under limits, in a process group of its own that ends whole with its
// context.
func command(cmd *exec.Cmd, limits Limits) error {
	self, err := executable()
	if err != nil {
		return err
	}
	cmd.Args = limits.limitedArgs(cmd.Path, cmd.Args[1:])
	cmd.Path = self
	cmd.SysProcAttr = processAttributes()
	cmd.Cancel = func() error { return killGroup(cmd) }
	return nil
}

// full reports whether the disk of a directory has no room for a file.
func full(dir string) bool {
	const least = 1 << 20 // bytes
	var disk syscall.Statfs_t
	return syscall.Statfs(dir, &disk) == nil && disk.Bavail*uint64(disk.Bsize) < least //nolint:gosec // sizes
}

// killGroup kills a program and all that it has started. The number of a group is not given to
// another while the group has members.
func killGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
