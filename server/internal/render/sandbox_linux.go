package render

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// sandbox runs programs with bubblewrap in namespaces of their own. A program has no network. It sees the files of
// systemPaths, its own file, the directories of PATH and the paths of the operator, and can only write to its working
// directory and small temporary file systems. All of its processes end with it.
type sandbox struct {
	path   string // of bwrap
	args   []string
	filter []byte
	user   int // that runs the program
}

// systemPaths are the programs and libraries of the system, with what the dynamic linker and fonts need.
//
//nolint:gochecknoglobals // a list
var systemPaths = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store",
	"/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts", "/etc/localtime",
}

const (
	// nobody is the user that runs a program instead of root, because the kernel does not limit the number of root's
	// processes.
	nobody = 65534
	// temporarySize is the size of /tmp and /dev/shm, which are in memory. A program has a directory on a disk in
	// TMPDIR.
	temporarySize = 64 << 20 // bytes
)

// exitSignaled is added to the number of a signal in the exit status of a killed program, as in a shell.
const exitSignaled = 128

// File descriptors in a sandbox.
const (
	sandboxExecutable = iota + 3 // this program, which has no path there
	sandboxFilter                // the filter of system calls
	sandboxLife                  // a pipe that the daemon closes to end the sandbox, or by its own end
)

// newSandbox returns a sandbox in which a program can also read paths. It returns an error if bubblewrap is not
// installed.
func newSandbox(paths []string) (*sandbox, error) {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, errors.New("bwrap is not installed; the package bubblewrap has it")
	}
	s := &sandbox{path: path, user: os.Geteuid(), args: []string{
		"--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
		"--as-pid-1", "--new-session", "--die-with-parent", "--cap-drop", "ALL",
	}}
	if s.filter, err = systemCallFilter(); err != nil {
		return nil, fmt.Errorf("no filter of system calls: %w", err)
	}
	if s.user == 0 {
		s.user = nobody
		s.args = append(s.args, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID") // until RunLimited drops them
	}
	for _, path := range systemPaths {
		if target, err := os.Readlink(path); err == nil {
			s.args = append(s.args, "--symlink", target, path)
		} else {
			s.bind("--ro-bind-try", path)
		}
	}
	s.args = append(s.args, "--proc", "/proc", "--dev", "/dev")
	for _, path := range []string{"/dev/shm", "/tmp"} {
		s.args = append(s.args, "--perms", "1777", "--size", strconv.Itoa(temporarySize), "--tmpfs", path)
	}
	for _, path := range slices.Concat(filepath.SplitList(os.Getenv("PATH")), paths) {
		_, err := os.Stat(path) //nolint:gosec // the operator named it
		switch {
		case err != nil || !filepath.IsAbs(path) || path == "/" || slices.Contains(systemPaths, path) || strings.HasPrefix(path, "/usr/"):
		case strings.HasPrefix(path, "/dev/"):
			s.bind("--dev-bind-try", path)
		default:
			s.bind("--ro-bind-try", path)
		}
	}
	return s, nil
}

// bind adds a path to the sandbox. Before version 0.9, bwrap creates missing parents without permissions for others, so
// they are created first.
func (s *sandbox) bind(how, path string) {
	path = filepath.Clean(path)
	if parent := filepath.Dir(path); parent != "/" {
		s.args = append(s.args, "--dir", parent)
	}
	s.args = append(s.args, how, path, path)
}

// command returns a command that runs program, which is this program, with args in the sandbox, where it can write to
// dir. The caller must close ExtraFiles after the start. Cancel ends the sandbox.
func (s *sandbox) command(ctx context.Context, dir, program string, args []string) (*exec.Cmd, error) {
	inside := &sandbox{args: slices.Clone(s.args)}
	inside.bind("--bind", dir)
	inside.args = append(inside.args, "--remount-ro", "/dev", "--remount-ro", "/",
		"--seccomp", strconv.Itoa(sandboxFilter), "--", "/proc/self/fd/"+strconv.Itoa(sandboxExecutable))
	cmd := exec.CommandContext(ctx, s.path, append(inside.args, args...)...) //nolint:gosec // bwrap
	cmd.Dir, cmd.Env = dir, environment(dir)
	// bwrap sets its death signal itself. With an earlier one, it could end before its child knows that it has a
	// parent.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if s.user != os.Geteuid() { // bwrap creates the user namespace if it does not run as root
		ids := []syscall.SysProcIDMap{{Size: 1}, {ContainerID: s.user, HostID: s.user, Size: 1}}
		cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings, cmd.SysProcAttr.GidMappings, cmd.SysProcAttr.GidMappingsEnableSetgroups = ids, ids, true
	}
	executable, err := os.OpenFile(program, unix.O_PATH, 0)
	if err != nil {
		return nil, err
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, executable)
	filter, w, err := os.Pipe()
	if err == nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, filter)
		_, err = w.Write(s.filter) // a pipe takes 64 KiB without a reader
		err = errors.Join(err, w.Close())
	}
	life, hold, errLife := os.Pipe()
	if err = errors.Join(err, errLife); err != nil {
		closeFiles(cmd)
		return nil, err
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, life)
	cmd.Cancel = hold.Close
	return cmd, nil
}

// supervise runs line, a program and its arguments, as user. It exits with the status of the program, and earlier if
// the daemon closes the pipe. This process is the first in the PID namespace of the sandbox, so the kernel then kills
// all others. supervise returns only if the program cannot be run.
func supervise(user int, line []string) error {
	// The program cannot trace this process, even if it runs as the same user.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	go func() {
		_, _ = os.NewFile(sandboxLife, "").Read(make([]byte, 1))
		os.Exit(exitSignaled + int(syscall.SIGKILL))
	}()
	attr := &syscall.ProcAttr{Dir: os.Getenv("HOME"), Env: os.Environ(), Files: []uintptr{0, 1, 2}}
	if user != os.Geteuid() {
		attr.Sys = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}} //nolint:gosec // a user id
	}
	program, err := syscall.ForkExec(line[0], line, attr) //nolint:gosec // the program that the operator named
	if err != nil {
		return err
	}
	for {
		var status syscall.WaitStatus
		switch process, err := syscall.Wait4(-1, &status, 0, nil); {
		case err != nil && !errors.Is(err, syscall.EINTR):
			return err
		case process == program && status.Signaled():
			os.Exit(exitSignaled + int(status.Signal()))
		case process == program:
			os.Exit(status.ExitStatus())
		}
	}
}

// give makes the user of the sandbox the owner of a directory and its content.
func (s *sandbox) give(dir string) error {
	if s == nil || s.user == os.Geteuid() {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	return errors.Join(fs.WalkDir(root.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		return errors.Join(err, root.Lchown(name, s.user, s.user))
	}), root.Close())
}
