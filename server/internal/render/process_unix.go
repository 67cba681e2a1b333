//go:build linux || darwin

package render

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// becomeLimited sets the limits encoded by limitedArgs and replaces this process with line, a program and its
// arguments. It returns nil only if line is empty.
func becomeLimited(user string, limits, line []string) error {
	for i, resource := range []int{unix.RLIMIT_CPU, unix.RLIMIT_DATA, unix.RLIMIT_FSIZE, unix.RLIMIT_NOFILE, unix.RLIMIT_NPROC} {
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
	prepareProgram()
	id, err := strconv.Atoi(user)
	switch {
	case err != nil:
		return err
	case len(line) == 0:
		return nil
	case id != noSandbox:
		err = supervise(id, line)
	default:
		if err := keepDeathSignal(); err != nil {
			return err
		}
		err = syscall.Exec(line[0], line, os.Environ()) //nolint:gosec // the program that the operator named
	}
	return fmt.Errorf("%s: %w", line[0], err)
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

// command returns a command that runs line, a program and its arguments, under the limits of p with dir as its working
// directory. Cancel of the command kills all of its processes.
func (p *program) command(ctx context.Context, dir string, line []string) (*exec.Cmd, error) {
	self, err := executable()
	if err != nil {
		return nil, err
	}
	if p.sandbox != nil {
		return p.sandbox.command(ctx, dir, self, p.limits.limitedArgs(p.sandbox.user, line))
	}
	limits := p.limits
	limits.Processes = -1
	cmd := exec.CommandContext(ctx, self, limits.limitedArgs(noSandbox, line)...) //nolint:gosec // this program
	cmd.Dir, cmd.Env, cmd.SysProcAttr = dir, environment(dir), processAttributes()
	// This is safe after the program has exited, because the system does not reuse the id of a process group that still
	// has members.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd, nil
}

// user returns the id of the user that runs the program and owns its results.
func (p *program) user() int {
	if p.sandbox != nil {
		return p.sandbox.user
	}
	return os.Geteuid()
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

// diskFull reports whether the disk of a directory has less than 1 MiB, or almost no inodes left. A file system without
// a number of inodes has Files 0.
func diskFull(dir string) bool {
	const least, leastFiles = 1 << 20, 16
	var disk syscall.Statfs_t
	return syscall.Statfs(dir, &disk) == nil && //nolint:gosec // sizes
		(disk.Bavail*uint64(disk.Bsize) < least || disk.Files > 0 && disk.Ffree < leastFiles)
}
