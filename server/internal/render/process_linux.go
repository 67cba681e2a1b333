package render

import "syscall"

// executable is this program, also when its file has been replaced.
func executable() (string, error) { return "/proc/self/exe", nil }

// processAttributes make a group leader that does not outlive the thread which started it.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
