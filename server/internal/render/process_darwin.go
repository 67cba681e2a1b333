package render

import (
	"os"
	"syscall"
)

func executable() (string, error) { return os.Executable() }

func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
