package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/avatarstudio/avatarstudio/api/harness"
)

// usage is the resource usage of a command and its child processes.
type usage struct {
	cpu, wall time.Duration
	memory    int64 // peak of all processes together, in bytes
}

// improve sets the shorter times and the larger memory of u and other.
func (u *usage) improve(other usage) {
	if u.cpu == 0 || other.cpu < u.cpu {
		u.cpu = other.cpu
	}
	if u.wall == 0 || other.wall < u.wall {
		u.wall = other.wall
	}
	u.memory = max(u.memory, other.memory)
}

// measure runs a command and returns its usage.
func measure(command *exec.Cmd) (u usage, err error) {
	began := time.Now()
	if err := command.Start(); err != nil {
		return usage{}, err
	}
	ended := make(chan struct{})
	peak := make(chan int64)
	go func() {
		var memory int64
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				memory = max(memory, harness.TreeMemory(command.Process.Pid))
			case <-ended:
				peak <- memory
				return
			}
		}
	}()
	err = command.Wait()
	u.wall = time.Since(began)
	close(ended)
	u.memory = <-peak
	if err != nil {
		return usage{}, fmt.Errorf("%s: %w", filepath.Base(command.Path), err)
	}
	// The times include those of child processes that have been waited for.
	u.cpu = command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	return u, nil
}
