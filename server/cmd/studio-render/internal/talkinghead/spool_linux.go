package talkinghead

import "syscall"

// roomFor reports whether a directory is on a disk that has four times as much room as a file needs. A tmpfs is memory.
func roomFor(dir string, size int64) bool {
	const tmpfs = 0x01021994
	var disk syscall.Statfs_t
	return syscall.Statfs(dir, &disk) == nil && disk.Type != tmpfs && disk.Bavail*uint64(disk.Bsize)/4 >= uint64(size)
}
