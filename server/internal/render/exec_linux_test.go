package render_test

import (
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/avatarstudio/avatarstudio/server/internal/render"
)

// deathSignal returns the signal that the kernel sends to this process when its parent ends.
func deathSignal() (signal int32) {
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_GET_PDEATHSIG, uintptr(unsafe.Pointer(&signal)), 0)
	return signal
}

// A program must not survive a daemon that is killed, whichever thread executed the program.
func TestExec_kernelKillsProgramWithDaemon(t *testing.T) {
	t.Parallel()
	s := setup(t, "death signal", render.Limits{})
	if _, err := s.Render(t.Context(), s.lipsync(`{}`)); err == nil || !strings.Contains(err.Error(), "signal 9") {
		t.Errorf("error is %v, want signal 9", err)
	}
}
