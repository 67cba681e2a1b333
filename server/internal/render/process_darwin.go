package render

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func executable() (string, error) { return os.Executable() }

// prepareProgram does nothing. This system has neither a score for a shortage of memory nor a call that closes all
// files.
func prepareProgram() {}

// machineMemory returns the memory of the machine in bytes, or 0 if it is unknown.
func machineMemory() int64 {
	n, _ := unix.SysctlUint64("hw.memsize")
	return int64(n) //nolint:gosec // no machine has that much
}

// keepDeathSignal does nothing. This system has no such signal.
func keepDeathSignal() error { return nil }

func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
