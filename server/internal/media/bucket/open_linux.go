package bucket

import (
	"os"

	"golang.org/x/sys/unix"
)

// openDirectly opens a file by one system call, which fails if the path contains a symbolic link. A kernel before 5.6,
// and some containers, do not allow the call.
func openDirectly(path string) (*os.File, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}
