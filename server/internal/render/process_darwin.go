package render

import (
	"os"
	"syscall"
)

func executable() (string, error) { return os.Executable() }

// keepDeathSignal does nothing. This system has no such signal.
func keepDeathSignal() error { return nil }

func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
