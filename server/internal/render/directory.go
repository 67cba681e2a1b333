package render

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

const (
	directoryPattern = "studiod-render-*"
	lockName         = "lock"
)

// directory is the parent of the working directories of this process. A file lock is held on it while the
// process lives, so that other processes can tell when it is stale.
type directory struct {
	path string
	lock *flock.Flock
}

// openDirectory creates a directory in parent. It first removes the directories of dead processes.
func openDirectory(parent string) (*directory, error) {
	if err := removeStale(parent); err != nil {
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

// removeStale removes the directories in parent whose process is dead. It skips directories without a
// lock file, because another process may be creating them.
func removeStale(parent string) error {
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
		_ = removeAll(path) // fails for directories of other users
		_ = lock.Close()
	}
	return nil
}

// makeWork creates an empty working directory for one rendering.
func (d *directory) makeWork() (path string, remove func() error, err error) {
	path, err = os.MkdirTemp(d.path, "work-*")
	return path, func() error { return removeAll(path) }, err
}

func (d *directory) close() error { return errors.Join(removeAll(d.path), d.lock.Close()) }

// removeAll removes a directory in which a program may have taken permissions away.
func removeAll(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	if root, err := os.OpenRoot(filepath.Dir(path)); err == nil {
		_ = fs.WalkDir(root.FS(), filepath.Base(path), func(name string, entry fs.DirEntry, _ error) error {
			if entry != nil && entry.IsDir() {
				_ = root.Chmod(name, 0o700)
			}
			return nil
		})
		_ = root.Close()
	}
	return os.RemoveAll(path)
}
