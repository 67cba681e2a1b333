// Package regularfile reads files whose names are settings.
package regularfile

import (
	"fmt"
	"os"
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
