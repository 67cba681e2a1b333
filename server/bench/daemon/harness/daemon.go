// Package harness is shared by the benchmarks of studiod. It builds and starts the daemon, opens databases, formats
// figures, and reads CPU time and memory from /proc. Without /proc, CPU time and memory are 0.
package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// BuildDaemon builds studiod in a directory and returns the path of the program.
func BuildDaemon(ctx context.Context, directory string) (string, error) {
	root := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/avatarstudio/avatarstudio")
	root.Stderr = os.Stderr
	where, err := root.Output()
	if err != nil {
		return "", err
	}
	program := filepath.Join(directory, "studiod")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./server/cmd/studiod") //nolint:gosec // no shell
	build.Dir, build.Stderr = strings.TrimSpace(string(where)), os.Stderr
	return program, build.Run()
}

// Daemon is studiod in its own process.
type Daemon struct {
	URL      string
	AdminURL string // "" without --admin-addr
	Started  time.Time

	command *exec.Cmd
	log     string // path
	exited  chan struct{}
	err     error // of the process, set before exited is closed
}

// StartDaemon starts studiod with additional environment variables and flags, and waits until it serves. Webhooks to
// this machine are allowed, and renderings take no time. The log is written to a file in directory.
func StartDaemon(ctx context.Context, program, dsn, directory string, env []string, flags ...string) (*Daemon, error) {
	log, err := os.CreateTemp(directory, "studiod-*.log")
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	d := &Daemon{Started: time.Now(), log: log.Name(), exited: make(chan struct{})}
	d.command = exec.CommandContext(ctx, program, append([]string{ //nolint:gosec // no shell
		"serve", "--log-format", "text", "--addr", "127.0.0.1:0", "--db", dsn, "--allow-http-webhooks", "--webhook-allow", "127.0.0.0/8", "--renderer=simulate:0s",
	}, flags...)...)
	d.command.Env = append(os.Environ(), env...)
	d.command.Stderr = log
	if err := d.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		d.err = d.command.Wait()
		close(d.exited)
	}()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	timeout := time.After(30 * time.Second)
	serving := regexp.MustCompile(`(?s)(?:msg="serving operators" url=(\S+).*)?msg=serving url=(\S+)`)
	for {
		text, err := os.ReadFile(d.log)
		if err != nil {
			return nil, err
		}
		if found := serving.FindSubmatch(text); found != nil {
			d.AdminURL, d.URL = string(found[1]), string(found[2])
			return d, nil
		}
		select {
		case <-ticker.C:
		case <-d.exited:
			return nil, fmt.Errorf("studiod exited: %w\n%s", d.err, text)
		case <-timeout:
			return nil, fmt.Errorf("studiod does not serve\n%s", text)
		}
	}
}

// Signal sends a signal to the process.
func (d *Daemon) Signal(signal os.Signal) error { return d.command.Process.Signal(signal) }

// Stop stops the daemon with SIGTERM, as an operator would.
func (d *Daemon) Stop() error {
	if err := d.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	<-d.exited
	return d.err
}

// Kill kills the daemon if it still runs.
func (d *Daemon) Kill() error {
	if err := d.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-d.exited
	return nil
}

// Running reports whether the daemon is still running.
func (d *Daemon) Running() bool {
	select {
	case <-d.exited:
		return false
	default:
		return true
	}
}

// WithLog adds the end of the daemon's log to an error.
func (d *Daemon) WithLog(err error) error {
	text, _ := os.ReadFile(d.log)
	return fmt.Errorf("%w\n%s", err, text[max(0, len(text)-2000):])
}

// PID returns the process id.
func (d *Daemon) PID() int { return d.command.Process.Pid }

// CPU returns the CPU time of the daemon.
func (d *Daemon) CPU() time.Duration { return TreeCPU(d.PID()) }

// Memory returns the resident memory, and its peak since [Daemon.ResetPeak], in bytes.
func (d *Daemon) Memory() (now, peak int64) {
	status, _ := os.ReadFile(d.proc("status"))
	for line := range strings.Lines(string(status)) {
		_, _ = fmt.Sscanf(line, "VmRSS: %d", &now)
		_, _ = fmt.Sscanf(line, "VmHWM: %d", &peak)
	}
	return now << 10, peak << 10
}

// ResetPeak sets the peak of [Daemon.Memory] to the current memory.
func (d *Daemon) ResetPeak() { _ = os.WriteFile(d.proc("clear_refs"), []byte("5"), 0) }

func (d *Daemon) proc(file string) string { return filepath.Join("/proc", strconv.Itoa(d.PID()), file) }
