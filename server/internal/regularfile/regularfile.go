// Package regularfile reads files whose names are settings, and writes files that survive a power failure.
package regularfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Read reads a regular file. It rejects a pipe: opening one would block, and so would the end of the process.
func Read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	return os.ReadFile(path)
}

// Rename renames a complete file, which is as readable as the file that it replaces. The file and its name survive a
// power failure.
func Rename(partial, path string) error {
	file, err := os.OpenFile(partial, os.O_RDWR|noFollow, 0)
	if err != nil {
		return err
	}
	share(file, path)
	err = errors.Join(file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(partial, path) //nolint:forbidigo // the only one
	}
	if err == nil {
		err = SyncDirectory(filepath.Dir(path))
	}
	return err
}

// Share gives a file the owner, the group and the mode of another one, if there is one and this user may give it them:
// what root writes for a service, the user of the service must be able to read. It does nothing on Windows, where files
// inherit the access to their directory.
func Share(path, other string) {
	if file, err := os.OpenFile(path, os.O_RDONLY|noFollow, 0); err == nil {
		share(file, other)
		_ = file.Close()
	}
}

// SyncDirectory makes the names of the files in a directory survive a power failure. It does nothing on Windows, which
// cannot sync directories.
func SyncDirectory(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
