package studiotest

import (
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// SmallDiskSize is the size of the disk of [SmallDisk], in bytes.
const SmallDiskSize = 4 << 20

// SmallDisk returns a directory on a disk of its own, of [SmallDiskSize] bytes. It skips the test if the
// disk cannot be mounted.
func SmallDisk(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := mountDisk(dir); err != nil {
		t.Skipf("no small disk can be mounted, which takes root on Linux: %v", err)
	}
	t.Cleanup(func() { harness.Check(t, unmountDisk(dir)) })
	return dir
}

// memoryDirectory returns a directory on a file system in memory with enough space for all tests, or "".
func memoryDirectory() string {
	const memory, needed = "/dev/shm", 2 << 30
	if free, err := freeSpace(memory); err == nil && free >= needed {
		return memory
	}
	return ""
}
