package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
)

// waitDelay is how long the output of a program may stay open after the program exits. Processes that it
// started may hold it open.
const waitDelay = 2 * time.Second

// errProgram is wrapped by every error that is the program's fault.
var errProgram = errors.New("the rendering program failed")

// program runs the program of a renderer. It is safe for concurrent use.
type program struct {
	line    []string // the path of the program and its arguments
	limits  Limits
	sandbox *sandbox // nil if there is none
	logger  *slog.Logger
}

// newProgram looks the program up in PATH. line is the program and its arguments.
func newProgram(line []string, limits Limits, logger *slog.Logger) (*program, error) {
	if len(line) == 0 {
		return nil, errors.New("a renderer needs a program")
	}
	path, err := exec.LookPath(line[0])
	if err != nil {
		return nil, err
	}
	if path, err = filepath.Abs(path); err != nil { // the program runs in another working directory
		return nil, err
	}
	return &program{line: append([]string{path}, line[1:]...), limits: limits.withDefaults(), logger: logger}, nil
}

// probeTimeout is how long the start of an empty sandbox may take.
const probeTimeout = 30 * time.Second

// openSandbox makes p use a sandbox in which the program can read paths. If the system does not allow it, openSandbox
// returns an error, and the program runs without a sandbox. dir is an empty directory.
func (p *program) openSandbox(ctx context.Context, dir string, paths []string) (err error) {
	defer func() {
		if err != nil {
			p.sandbox = nil
		}
	}()
	if p.sandbox, err = newSandbox(slices.Concat(p.line, paths)); err != nil {
		return err
	}
	if err := p.sandbox.give(dir); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	cmd, err := p.command(ctx, dir, nil)
	if err != nil {
		return err
	}
	defer closeFiles(cmd)
	defer func() { _ = cmd.Cancel() }()
	cmd.WaitDelay = waitDelay
	if output, err := cmd.CombinedOutput(); err != nil {
		line, _, _ := strings.Cut(string(output), "\n")
		return fmt.Errorf("%w: %s", err, protocol.Clean(line))
	}
	return nil
}

// closeFiles closes the files of a command that the system has copied, if it was started.
func closeFiles(cmd *exec.Cmd) {
	for _, file := range cmd.ExtraFiles {
		_ = file.Close()
	}
}

// run runs the program once with dir as its working directory. A failure that the program reports is a
// [*protocol.Error]. All processes of the program have been killed when run returns. When ctx is done, run
// kills the program and returns within waitDelay.
func (p *program) run(
	ctx context.Context, dir string, request protocol.Request, progress func(done float64, stage protocol.Stage),
) (protocol.Result, error) {
	var input bytes.Buffer
	if err := protocol.WriteRequest(&input, request); err != nil {
		return protocol.Result{}, err
	}
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd, err := p.command(limited, dir, p.line)
	if err != nil {
		return protocol.Result{}, err
	}
	stderr := &lineLogger{logger: p.logger.With("id", request.ID, "attempt", request.Attempt)}
	cmd.Stdin, cmd.Stderr, cmd.WaitDelay = &input, stderr, waitDelay
	output, stdout, err := os.Pipe()
	if err != nil {
		return protocol.Result{}, err
	}
	defer func() { _ = output.Close() }()
	cmd.Stdout = stdout

	started, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		// The kernel kills the program when the thread that started it ends, so this goroutine keeps its
		// thread until the program exits.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		_ = stdout.Close()
		closeFiles(cmd)
		started <- err
		if err != nil {
			return
		}
		err = cmd.Wait()
		_ = cmd.Cancel() // kills processes that the program started and left running
		_ = output.SetReadDeadline(time.Now().Add(waitDelay))
		ended <- err
	}()
	if err := <-started; err != nil {
		return protocol.Result{}, err
	}
	result, err := protocol.Read(output, progress)
	_, reported := errors.AsType[*protocol.Error](err)
	if err != nil && !reported {
		cancel()
	}
	exit := <-ended
	stderr.flush(ctx)
	switch {
	case ctx.Err() != nil:
		return protocol.Result{}, context.Cause(ctx)
	case err == nil && (exit == nil || errors.Is(exit, exec.ErrWaitDelay)), reported && exit == nil:
		return result, err
	default:
		return protocol.Result{}, fmt.Errorf("%w: %w", errProgram, errors.Join(err, exit))
	}
}

// environment returns the environment of a program. It contains only the listed variables of the daemon's
// environment, which may hold passwords.
func environment(dir string) []string {
	env := []string{"HOME=" + dir, "TMPDIR=" + dir}
	for _, name := range []string{"PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Limits on how much of a program's standard error is logged.
const (
	maxErrorLines = 50
	maxErrorLine  = 4 << 10 // bytes
)

// lineLogger is a writer that logs up to maxErrorLines lines and counts the others.
type lineLogger struct {
	logger  *slog.Logger
	line    []byte
	lines   int
	dropped int
}

func (l *lineLogger) Write(data []byte) (int, error) {
	for _, b := range data {
		switch {
		case b == '\n':
			l.logLine(context.Background())
		case len(l.line) < maxErrorLine:
			l.line = append(l.line, b)
		}
	}
	return len(data), nil
}

func (l *lineLogger) logLine(ctx context.Context) {
	text := protocol.Clean(strings.TrimSpace(string(l.line)))
	l.line = l.line[:0]
	if text == "" {
		return
	}
	if l.lines++; l.lines > maxErrorLines {
		l.dropped++
		return
	}
	l.logger.InfoContext(ctx, "renderer stderr", "line", text)
}

func (l *lineLogger) flush(ctx context.Context) {
	l.logLine(ctx)
	if l.dropped > 0 {
		l.logger.InfoContext(ctx, "renderer stderr truncated", "lines", l.dropped)
	}
}
