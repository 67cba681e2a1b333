package render

import "syscall"

// executable returns a path to the running program that works even after its file was replaced.
func executable() (string, error) { return "/proc/self/exe", nil }

// processAttributes returns the attributes of a process group leader that the kernel kills when the thread
// that started it ends.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
