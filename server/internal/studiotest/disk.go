package studiotest

import "testing"

// SmallDiskSize is the size of a [SmallDisk], in bytes.
const SmallDiskSize = 4 << 20

// SmallDisk returns a directory with a disk of its own that is soon full. It skips a test that may not
// mount one.
func SmallDisk(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := mountDisk(dir); err != nil {
		t.Skipf("no small disk can be mounted, which takes root on Linux: %v", err)
	}
	t.Cleanup(func() {
		if err := unmountDisk(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
