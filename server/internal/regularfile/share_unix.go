//go:build unix

package regularfile

import (
	"os"
	"syscall"
)

const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// share is [Share] for an open file. The directory may be that of a user who puts another file of root there, so it
// does nothing for a file with several names.
func share(file *os.File, other string) {
	as, err := os.Stat(other)
	if err != nil {
		return
	}
	is, err := file.Stat()
	if err != nil || !is.Mode().IsRegular() {
		return
	}
	own, ok := is.Sys().(*syscall.Stat_t)
	stat, hasOwner := as.Sys().(*syscall.Stat_t)
	if ok && hasOwner && own.Nlink == 1 && file.Chown(int(stat.Uid), int(stat.Gid)) == nil {
		_ = file.Chmod(as.Mode().Perm())
	}
}
