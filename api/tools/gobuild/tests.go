package gobuild

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// FindTest returns an error unless the package in dir has a test with this name.
func FindTest(dir, name string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return err
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if bytes.Contains(source, []byte("\nfunc "+name+"(")) {
			return nil
		}
	}
	return fmt.Errorf("%s has no test %s", dir, name)
}
