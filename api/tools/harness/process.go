// Package harness starts, stops, kills and freezes processes in tests and benchmarks, measures their CPU time and
// memory, and waits for conditions. Both the client and the server use it, because they do not import each other.
package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Timeout bounds each wait of this package. It is long enough for leases of the service to expire on a busy machine.
const Timeout = 2 * time.Minute

// Process is a running program. Its methods may be called concurrently.
type Process struct {
	Started time.Time

	command *exec.Cmd
	exited  chan struct{}
	err     error // of the command, set before exited is closed

	log *os.File // has no name; a pipe would take CPU time of this process
	mu  sync.Mutex
	// text is what was read of the log. It is only appended to.
	text []byte
}

// start starts a command. Its standard error becomes the log.
func start(command *exec.Cmd) (*Process, error) {
	log, err := os.CreateTemp("", "harness-*.log")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(log.Name()) }()
	p := &Process{Started: time.Now(), command: command, exited: make(chan struct{}), log: log}
	command.Stderr = log
	if err := command.Start(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	go func() {
		p.err = command.Wait()
		close(p.exited)
	}()
	return p, nil
}

// PID returns the process id.
func (p *Process) PID() int { return p.command.Process.Pid }

// Signal sends a signal.
func (p *Process) Signal(signal os.Signal) error { return p.command.Process.Signal(signal) }

// End sends a signal and waits until the process has exited, like [Process.Wait].
func (p *Process) End(signal os.Signal) error {
	if err := p.Signal(signal); err != nil {
		return err
	}
	return p.Wait()
}

// Stop stops the process with SIGTERM, as an operator would.
func (p *Process) Stop() error { return p.End(syscall.SIGTERM) }

// Wait waits until the process has exited. It returns an error if the exit code is not 0.
func (p *Process) Wait() error {
	select {
	case <-p.exited:
		return p.err
	case <-time.After(Timeout):
		return errors.New("the process does not exit")
	}
}

// Kill sends SIGKILL and waits until the process has exited. It returns an error if the process exited before.
func (p *Process) Kill() error {
	err := p.End(os.Kill)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && !exit.Exited() {
		return nil
	}
	return errors.Join(errors.New("the process exited before it was killed"), err)
}

// Close kills the process if it still runs.
func (p *Process) Close() {
	_ = p.command.Process.Kill() // fails if it has exited
	<-p.exited
}

// Running reports whether the process has not exited yet.
func (p *Process) Running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Log returns what the process has logged.
func (p *Process) Log() string { return string(p.readLog()) }

func (p *Process) readLog() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		p.text = slices.Grow(p.text, 4<<10)
		n, err := p.log.ReadAt(p.text[len(p.text):cap(p.text)], int64(len(p.text)))
		p.text = p.text[:len(p.text)+n]
		if err != nil { // io.EOF
			return p.text
		}
	}
}

// AwaitLog waits until a line of the log matches a regular expression.
func (p *Process) AwaitLog(pattern string) error { return p.AwaitLogAfter(0, pattern) }

// AwaitLogAfter is like [Process.AwaitLog] without the first n bytes of the log.
func (p *Process) AwaitLogAfter(n int, pattern string) error {
	expression, found := regexp.MustCompile(pattern), false
	Poll(context.Background(), Timeout, func() bool {
		running, text := p.Running(), p.readLog()
		if end := bytes.LastIndexByte(text, '\n') + 1; end > n {
			found, n = expression.Match(text[n:end]), end
		}
		return found || !running
	})
	if !found {
		return fmt.Errorf("the process does not log %q", pattern)
	}
	return nil
}

// Poll calls holds until it returns true, the timeout has passed, or ctx is done. It returns the last result.
func Poll(ctx context.Context, timeout time.Duration, holds func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return holds()
		}
	}
	return true
}
