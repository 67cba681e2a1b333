package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/client"
)

// Exit codes.
const (
	exitOK           = 0
	exitFailure      = 1
	exitUsage        = 2
	exitUnauthorized = 3
	exitNotFound     = 4
	exitRecordFailed = 5
	exitInterrupted  = 130
)

const exitCodes = `Exit codes:
  0    success
  1    failure
  2    invalid input
  3    not logged in or not allowed
  4    no such project, avatar, video, lip-sync or webhook URL
  5    the creation of the watched record failed, or consent was refused
  130  interrupted`

// responseTimeout limits a request to a receiver, as in the service, and a logout.
const responseTimeout = 15 * time.Second

var (
	errLogin        = errors.New(`not logged in; see "studio login --help"`)
	errRecordFailed = errors.New("creation failed")
)

func usagef(format string, args ...any) error { return commandline.Usagef(format, args...) }

// program is the environment of the commands.
type program struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	// Terminal reports whether Stdout is a terminal that can rewrite a line. If so, a watch updates one.
	Terminal bool

	// StderrTerminal reports the same of Stderr. If so, uploads and downloads show a progress bar.
	StderrTerminal bool

	// ReadPassword reads a line without echo. It is nil if Stdin is not a terminal. The program then shows no
	// prompts.
	ReadPassword func(context.Context) (string, error)

	// Env has the values of environment variables.
	Env client.Config

	// Directory stores the login. It is empty if the user has no configuration directory.
	Directory string

	retry     client.Retry
	transport *http.Transport
}

func newProgram() *program {
	dumb := os.Getenv("TERM") == "dumb"
	p := &program{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Terminal:       !dumb && term.IsTerminal(int(os.Stdout.Fd())),
		StderrTerminal: !dumb && term.IsTerminal(int(os.Stderr.Fd())),
		Env:            client.FromEnv(),
		retry:          client.Retry{Attempts: attempts},
	}
	if terminal := int(os.Stdin.Fd()); term.IsTerminal(terminal) {
		p.ReadPassword = func(ctx context.Context) (string, error) { return commandline.ReadPassword(ctx, terminal) }
	}
	if directory, err := os.UserConfigDir(); err == nil {
		p.Directory = filepath.Join(directory, "avatarstudio")
	}
	return p
}

// Run runs a command and returns its exit code. It writes an error to Stderr as one line. Stderr also has the
// prompts and the messages of listen. The first interrupt ends the command, and the second kills the process.
func (p *program) Run(ctx context.Context, args []string) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	p.transport = http.DefaultTransport.(*http.Transport).Clone()
	p.transport.DisableCompression = true // forwarded events must not get another header
	defer p.transport.CloseIdleConnections()

	line, err := commandline.Run(ctx, p.rootCommand(), args)
	code := exitCode(err)
	if err != nil && (code != exitInterrupted || errors.Is(err, client.ErrOutcomeUnknown)) {
		_, _ = fmt.Fprintf(p.Stderr, "studio: %s\n", commandline.Printable(line))
	}
	return code
}

func exitCode(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case !errors.As(err, new(commandline.FailureError)) || errors.Is(err, client.ErrInvalid):
		return exitUsage
	case errors.Is(err, errRecordFailed):
		return exitRecordFailed
	case errors.Is(err, errLogin) || errors.Is(err, client.ErrUnauthorized) || errors.Is(err, client.ErrForbidden):
		return exitUnauthorized
	case errors.Is(err, client.ErrNotFound):
		return exitNotFound
	}
	return exitFailure
}
