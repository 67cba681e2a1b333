//go:build !linux

package bucket

import (
	"errors"
	"os"
)

// openDirectly fails, because this system has no such call.
func openDirectly(string) (*os.File, error) { return nil, errors.ErrUnsupported }
