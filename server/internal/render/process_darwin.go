package render

import (
	"os"
	"syscall"
)

func executable() (string, error) { return os.Executable() }

// prepareProgram does nothing. This system has neither a score for a shortage of memory nor a call that closes all files.
func prepareProgram() {}

// keepDeathSignal does nothing. This system has no such signal.
func keepDeathSignal() error { return nil }

func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
