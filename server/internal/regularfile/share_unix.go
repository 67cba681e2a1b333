//go:build unix

package regularfile

import (
	"os"
	"syscall"
)

// Share gives a file the owner, the group and the mode of another one, if there is one and this user may give it them:
// what root writes for a service, the user of the service must be able to read.
func Share(path, other string) {
	info, err := os.Stat(other)
	if err != nil {
		return
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && os.Lchown(path, int(stat.Uid), int(stat.Gid)) == nil {
		_ = os.Chmod(path, info.Mode().Perm())
	}
}
