package harness_test

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

func shell(t *testing.T, script string) *harness.Process {
	t.Helper()
	return harness.Run(t, exec.Command("sh", "-c", script))
}

func TestProcess_logIsCompleteAfterTheExit(t *testing.T) {
	t.Parallel()
	p := shell(t, "echo first >&2; echo last line >&2; exit 3")
	harness.Check(t, p.AwaitLog("last l.ne"))
	if err := p.AwaitLog("missing"); err == nil || p.Log() != "first\nlast line\n" {
		t.Errorf("waiting for a line that never comes in %q: %v", p.Log(), err)
	}
	if err := p.AwaitLogAfter(len("first\n"), "first"); err == nil {
		t.Error("an earlier line is found")
	}
	if err := p.Wait(); err == nil || p.Running() {
		t.Errorf("exit code 3 is %v", err)
	}
	if err := p.Kill(); err == nil {
		t.Error("a process is killed after its exit")
	}
}

func TestProcess_freezesAndEnds(t *testing.T) {
	t.Parallel()
	p := shell(t, "trap 'echo stopped >&2; exit 0' TERM; echo ready >&2; while :; do sleep 0.01; done")
	harness.Check(t, p.AwaitLog("ready"))
	if now, peak := p.Memory(); now == 0 || peak < now || harness.TreeMemory(p.PID()) == 0 {
		t.Errorf("the memory is %d, with a peak of %d", now, peak)
	}
	harness.Check(t, p.Freeze())
	harness.Check(t, p.Signal(syscall.SIGTERM))
	time.Sleep(20 * time.Millisecond) // enough for a process that is not frozen
	if log := p.Log(); !p.Running() || log != "ready\n" {
		t.Errorf("a frozen process logs %q", log)
	}
	harness.Check(t, p.Resume())
	harness.Check(t, p.Wait())
	if err := p.Signal(os.Interrupt); !errors.Is(err, os.ErrProcessDone) || p.Log() != "ready\nstopped\n" {
		t.Errorf("after the end a signal returns %v", err)
	}
}

func TestProcess_killIsNoExit(t *testing.T) {
	t.Parallel()
	harness.Check(t, shell(t, "sleep 60").Kill())
}
