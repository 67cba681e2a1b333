//go:build linux || darwin

package render

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// becomeLimited sets the limits encoded by limitedArgs and replaces this process with program. It returns
// only if that fails.
func becomeLimited(limits, program []string) error {
	for i, resource := range []int{syscall.RLIMIT_CPU, syscall.RLIMIT_DATA, syscall.RLIMIT_FSIZE, syscall.RLIMIT_NOFILE} {
		n, err := strconv.ParseInt(limits[i], 10, 64)
		if err != nil {
			return err
		}
		if n > 0 {
			if err := setLimit(resource, uint64(n)); err != nil {
				return err
			}
		}
	}
	if err := setLimit(syscall.RLIMIT_CORE, 0); err != nil {
		return err
	}
	if err := keepDeathSignal(); err != nil {
		return err
	}
	err := syscall.Exec(program[0], program, os.Environ()) //nolint:gosec // the program that the operator named
	return fmt.Errorf("%s: %w", program[0], err)
}

// setLimit sets a resource limit to n, or leaves it unchanged if it is lower already.
func setLimit(resource int, n uint64) error {
	var current syscall.Rlimit
	if err := syscall.Getrlimit(resource, &current); err != nil {
		return err
	}
	n = min(n, current.Max)
	return syscall.Setrlimit(resource, &syscall.Rlimit{Cur: n, Max: n})
}

// limitCommand changes cmd so that its program runs under limits and in its own process group. When the context
// of cmd is cancelled, the whole group is killed.
func limitCommand(cmd *exec.Cmd, limits Limits) error {
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

// openResult opens a file that the program has written to dir. The file must be regular, not empty, and belong to user.
// It must have one link, because another link may name a file that the program cannot read.
func openResult(dir, name string, user int) (*os.File, error) {
	parent, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(parent) }()
	// Without O_NONBLOCK, opening a named pipe would block.
	fd, err := unix.Openat(parent, name, unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), name)
	var info unix.Stat_t
	err = unix.Fstat(fd, &info)
	if err == nil && (info.Mode&unix.S_IFMT != unix.S_IFREG || info.Size == 0 || info.Nlink != 1 || int(info.Uid) != user) {
		err = errNotResult
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// diskFull reports whether the disk of a directory has less than 1 MiB left.
func diskFull(dir string) bool {
	const least = 1 << 20 // bytes
	var disk syscall.Statfs_t
	return syscall.Statfs(dir, &disk) == nil && disk.Bavail*uint64(disk.Bsize) < least //nolint:gosec // sizes
}

// killGroup kills the process group of a program. It is safe after the program has exited, because the
// system does not reuse the id of a process group that still has members.
func killGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
