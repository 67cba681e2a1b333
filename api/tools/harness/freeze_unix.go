//go:build unix

package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Freeze sends SIGSTOP and waits until all threads of the process are stopped. It needs Linux.
func (p *Process) Freeze() error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	frozen := Poll(context.Background(), Timeout, func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.PID()))
		return len(threads) > 0 && !slices.ContainsFunc(threads, func(thread string) bool {
			stat, _ := os.ReadFile(thread)
			return !bytes.Contains(stat, []byte(") T ")) // the state follows the name
		})
	})
	if !frozen {
		return errors.New("the process is not frozen")
	}
	return nil
}

// Resume ends Freeze.
func (p *Process) Resume() error { return p.Signal(syscall.SIGCONT) }
