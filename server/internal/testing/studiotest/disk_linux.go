package studiotest

import "syscall"

func mountDisk(dir string) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m,nr_inodes=2000")
}

func unmountDisk(dir string) error { return syscall.Unmount(dir, syscall.MNT_DETACH) }

// freeSpace returns how many bytes may be written to the file system of a directory.
func freeSpace(dir string) (uint64, error) {
	var status syscall.Statfs_t
	err := syscall.Statfs(dir, &status)
	return status.Bavail * uint64(status.Bsize), err //nolint:gosec // a size is positive
}
