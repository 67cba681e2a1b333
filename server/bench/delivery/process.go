package main

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// inbox is a receiver in its own process.
type inbox struct {
	urls      map[string][]string // by the way they respond
	command   *exec.Cmd
	questions io.WriteCloser
	encoder   *gob.Encoder
	answers   *gob.Decoder
}

func startInbox(ctx context.Context, s setting) (*inbox, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	in := &inbox{command: exec.CommandContext(ctx, program, "-receiver")} //nolint:gosec // this program
	in.command.Stderr = os.Stderr
	if in.questions, err = in.command.StdinPipe(); err != nil {
		return nil, err
	}
	answers, err := in.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := in.command.Start(); err != nil {
		return nil, err
	}
	in.encoder, in.answers = gob.NewEncoder(in.questions), gob.NewDecoder(answers)
	if err := errors.Join(in.encoder.Encode(s), in.answers.Decode(&in.urls)); err != nil {
		return nil, errors.Join(err, in.close())
	}
	return in, nil
}

// ask sends a question to the receiver and returns its answer.
func (in *inbox) ask(q question) (t tally, err error) {
	if err := errors.Join(in.encoder.Encode(q), in.answers.Decode(&t)); err != nil {
		return t, fmt.Errorf("receiver: %w", err)
	}
	return t, nil
}

// all waits until the receiver has accepted all events, at most for maxWait. It fails if an event is lost,
// out of order or wrongly signed.
func (in *inbox) all(events int, maxWait time.Duration, arrivals bool) (tally, error) {
	t, err := in.ask(question{Accepted: events, MaxWait: maxWait, Arrivals: arrivals})
	switch {
	case err != nil:
		return t, err
	case t.Wrong > 0:
		return t, fmt.Errorf("%d attempts have a wrong signature or body", t.Wrong)
	case t.Inversions > 0:
		return t, fmt.Errorf("%d attempts are out of order", t.Inversions)
	case t.Accepted != events:
		return t, fmt.Errorf("%d events of %d arrived within %v", t.Accepted, events, maxWait)
	}
	return t, nil
}

// forget resets the receiver and returns what it had received.
func (in *inbox) forget() (tally, error) { return in.ask(question{Forget: true}) }

func (in *inbox) close() error {
	_ = in.questions.Close()
	return in.command.Wait()
}

// daemon is a studiod in its own process.
type daemon struct {
	url     string
	began   time.Time // start time
	command *exec.Cmd
	log     string // path
	ended   chan struct{}
	err     error // result of the process, valid once ended is closed
}

// buildDaemon builds studiod in a directory and returns the path of the program.
func buildDaemon(ctx context.Context, directory string) (string, error) {
	root := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/avatarstudio/avatarstudio")
	root.Stderr = os.Stderr
	where, err := root.Output()
	if err != nil {
		return "", err
	}
	program := filepath.Join(directory, "studiod")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./server/cmd/studiod") //nolint:gosec // a path of ours
	build.Dir, build.Stderr = strings.TrimSpace(string(where)), os.Stderr
	return program, build.Run()
}

// startDaemon starts studiod and waits until it serves. Webhooks to this machine are allowed, and
// renderings take no time.
func startDaemon(ctx context.Context, program, dsn, directory string, more ...string) (*daemon, error) {
	log, err := os.CreateTemp(directory, "studiod-*.log")
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	d := &daemon{began: time.Now(), log: log.Name(), ended: make(chan struct{})}
	args := append([]string{
		"serve", "--log-format", "text", "--addr", "127.0.0.1:0", "--db", dsn, "--allow-http-webhooks", "--webhook-allow", "127.0.0.0/8", "--render-time", "0s",
	}, more...)
	d.command = exec.CommandContext(ctx, program, args...) //nolint:gosec // a path of ours
	d.command.Stderr = log
	if err := d.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		d.err = d.command.Wait()
		close(d.ended)
	}()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	serving, timeout := regexp.MustCompile(`msg=serving url=(\S+)`), time.After(30*time.Second)
	for {
		text, err := os.ReadFile(d.log)
		if err != nil {
			return nil, err
		}
		if found := serving.FindSubmatch(text); found != nil {
			d.url = string(found[1])
			return d, nil
		}
		select {
		case <-ticker.C:
		case <-d.ended:
			return nil, fmt.Errorf("studiod ended: %w\n%s", d.err, text)
		case <-timeout:
			return nil, fmt.Errorf("studiod does not serve\n%s", text)
		}
	}
}

// stop stops the daemon with SIGTERM, as an operator would.
func (d *daemon) stop() error {
	if err := d.command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	<-d.ended
	return d.err
}

// kill kills the daemon if it still runs.
func (d *daemon) kill() error {
	if err := d.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-d.ended
	return nil
}

// explain adds the end of the daemon's log to an error.
func (d *daemon) explain(err error) error {
	text, _ := os.ReadFile(d.log)
	return fmt.Errorf("%w\n%s", err, text[max(0, len(text)-2000):])
}

// memory returns the resident memory in bytes, and its peak since forgetPeak. Both are 0 on systems without
// /proc.
func (d *daemon) memory() (now, peak int64) {
	status, _ := os.ReadFile(d.proc("status"))
	for line := range strings.Lines(string(status)) {
		_, _ = fmt.Sscanf(line, "VmRSS: %d", &now)
		_, _ = fmt.Sscanf(line, "VmHWM: %d", &peak)
	}
	return now << 10, peak << 10
}

// runs reports whether the daemon is still running.
func (d *daemon) runs() bool {
	select {
	case <-d.ended:
		return false
	default:
		return true
	}
}

func (d *daemon) forgetPeak() { _ = os.WriteFile(d.proc("clear_refs"), []byte("5"), 0) }

// cpu returns the CPU time of the daemon.
func (d *daemon) cpu() time.Duration { return cpuOf(d.command.Process.Pid) }

func (d *daemon) proc(file string) string {
	return filepath.Join("/proc", strconv.Itoa(d.command.Process.Pid), file)
}
