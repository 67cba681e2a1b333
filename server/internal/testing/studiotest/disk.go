package studiotest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

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

// memoryDirectory returns a directory on a file system in memory with enough space for all tests, or that
// for temporary files.
func memoryDirectory() string {
	const memory, needed = "/dev/shm", 2 << 30
	if free, err := freeSpace(memory); err == nil && free >= needed {
		return memory
	}
	return os.TempDir()
}

// newDirectory returns a new directory for files of tests in parent. Its name has the id of this process, because a
// process that is killed leaves it behind.
func newDirectory(parent string) (string, error) {
	removeLeft(parent)
	return os.MkdirTemp(parent, fmt.Sprintf("studiotest.%d.", os.Getpid()))
}

// leftRemoved has the directories from which this process has removed what killed processes left.
var leftRemoved sync.Map

// removeLeft removes the directories of processes that were killed, unless a shell may still do that.
func removeLeft(parent string) {
	if _, done := leftRemoved.LoadOrStore(parent, true); done {
		return
	}
	all, _ := filepath.Glob(filepath.Join(parent, "studiotest.*.*"))
	for _, directory := range all {
		id, _ := strconv.Atoi(strings.Split(filepath.Base(directory), ".")[1])
		info, err := os.Stat(directory)
		process, findErr := os.FindProcess(id)
		if errors.Join(err, findErr) == nil && id > 0 && time.Since(info.ModTime()) > time.Minute &&
			errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone) {
			_ = os.RemoveAll(directory)
		}
	}
}
