//go:build unix

package httpserver

import (
	"math"
	"syscall"
)

// maxOpenFiles returns the number of files that the process may open. The Go runtime has already raised the
// soft limit to the hard limit.
func maxOpenFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return int(min(uint64(limit.Cur), math.MaxInt32)) //nolint:unconvert // the type differs between systems
}
