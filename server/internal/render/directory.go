package render

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

const (
	directoryPattern = "studiod-render-*"
	lockName         = "lock"
)

// directory holds the working directories of a process. It is locked as long as the process
// lives, so that others know when it is left over.
type directory struct {
	path string
	lock *flock.Flock
}

// openDirectory makes a directory, and removes those that processes left behind.
func openDirectory(parent string) (*directory, error) {
	if err := sweepDirectories(parent); err != nil {
		return nil, err
	}
	path, err := os.MkdirTemp(parent, directoryPattern)
	if err != nil {
		return nil, err
	}
	d := &directory{path: path, lock: flock.New(filepath.Join(path, lockName), flock.SetPermissions(0o600))}
	if _, err := d.lock.TryLock(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return d, nil
}

// sweepDirectories removes the directories whose process has gone. A directory without a lock
// is one that another process is just making.
func sweepDirectories(parent string) error {
	found, err := filepath.Glob(filepath.Join(parent, directoryPattern))
	if err != nil {
		return err
	}
	for _, path := range found {
		name := filepath.Join(path, lockName)
		if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
			continue
		}
		lock := flock.New(name)
		if free, err := lock.TryLock(); err != nil || !free {
			continue
		}
		_ = os.RemoveAll(path) // another user's stays
		_ = lock.Close()
	}
	return nil
}

// work makes an empty directory, private to one rendering.
func (d *directory) work() (path string, remove func() error, err error) {
	path, err = os.MkdirTemp(d.path, "work-*")
	return path, func() error { return os.RemoveAll(path) }, err
}

func (d *directory) close() error { return errors.Join(os.RemoveAll(d.path), d.lock.Close()) }
