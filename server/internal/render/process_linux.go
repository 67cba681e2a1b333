package render

import (
	"math"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// executable returns a path to the running program that works even after its file was replaced.
func executable() (string, error) { return "/proc/self/exe", nil }

// processAttributes returns the attributes of a process group leader that the kernel kills when the thread
// that started it ends.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// prepareProgram changes this process so that its programs inherit no files, and are the first that the kernel kills
// when memory is short.
func prepareProgram() {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) // fails if /proc is read-only
	const stderr = 2
	if unix.CloseRange(stderr+1, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) != nil { // before Linux 5.11
		for fd := stderr + 1; fd < 1024; fd++ {
			syscall.CloseOnExec(fd)
		}
	}
}

// machineMemory returns the memory of the machine in bytes, or 0 if it is unknown.
func machineMemory() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit) //nolint:gosec // no machine has that much
}

// keepDeathSignal sets the signal of [processAttributes] for the current thread and locks the goroutine to it. The
// kernel keeps the signal for each thread: the first thread has it, but a program that another thread executes would
// survive the daemon.
func keepDeathSignal() error {
	runtime.LockOSThread()
	return os.NewSyscallError("prctl", unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0))
}
