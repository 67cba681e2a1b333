package render

import (
	"os"
	"runtime"
	"syscall"
)

// executable returns a path to the running program that works even after its file was replaced.
func executable() (string, error) { return "/proc/self/exe", nil }

// processAttributes returns the attributes of a process group leader that the kernel kills when the thread
// that started it ends.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// keepDeathSignal sets the signal of [processAttributes] for the current thread and locks the goroutine to it. The
// kernel keeps the signal for each thread: the first thread has it, but a program that another thread executes would
// survive the daemon.
func keepDeathSignal() error {
	runtime.LockOSThread()
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0); errno != 0 {
		return os.NewSyscallError("prctl", errno)
	}
	return nil
}
