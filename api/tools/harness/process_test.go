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

func TestProcess_freezesAndEnds(t *testing.T) {
	t.Parallel()
	const script = "trap 'echo stopped >&2; exit 0' TERM; echo ready >&2; while :; do sleep 0.01; done"
	p := harness.Run(t, exec.Command("sh", "-c", script))
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
