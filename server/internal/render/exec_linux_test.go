package render_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/render"
)

// deathSignal returns the signal that the kernel sends to this process when its parent ends.
func deathSignal() (signal int32) {
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_GET_PDEATHSIG, uintptr(unsafe.Pointer(&signal)), 0)
	return signal
}

// memoryLimit returns the limit of the memory of this process, in bytes.
func memoryLimit() uint64 {
	var limit syscall.Rlimit
	_ = syscall.Getrlimit(syscall.RLIMIT_DATA, &limit)
	return limit.Cur
}

func TestExec_leavesHalfOfTheMemory(t *testing.T) {
	t.Parallel()
	var machine syscall.Sysinfo_t
	harness.Check(t, syscall.Sysinfo(&machine))
	s := setup(t, "memory limit", render.Limits{})
	_, err := s.Render(t.Context(), s.lipsync(`{}`))
	if want := fmt.Sprintf("limit %d", int64(machine.Totalram)*int64(machine.Unit)/2); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v, want %s", err, want)
	}
}

// Without a sandbox, the start logs a warning, and a program must still not survive a daemon that is killed, whichever
// thread executed the program.
func TestExec_worksWithoutSandbox(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // without bwrap
	s := setup(t, "death signal", render.Limits{})
	if log := s.log.String(); strings.Count(log, "no sandbox") != 1 || !strings.Contains(log, "bwrap is not installed") {
		t.Errorf("log:\n%s", log)
	}
	if _, err := s.Render(t.Context(), s.lipsync(`{}`)); err == nil || !strings.Contains(err.Error(), "signal 9") {
		t.Errorf("error is %v, want signal 9", err)
	}
	testKills(t)
}
