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
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/avatarstudio/avatarstudio/client"
)

// Exit codes, as the help shows them.
const (
	exitOK           = 0
	exitFailure      = 1
	exitUsage        = 2
	exitUnauthorized = 3
	exitNotFound     = 4
	exitEnded        = 5
	exitInterrupted  = 130
)

const exitCodes = `Exit codes:
  0    done
  1    failure
  2    bad input
  3    not logged in, or not allowed
  4    no such avatar, video or lip-sync
  5    what was watched has failed, or was refused consent
  130  interrupted`

// answerTimeout bounds a request that the program sends to a receiver. It is the deadline that the
// service has for it too.
const answerTimeout = 15 * time.Second

var (
	errLogin = errors.New(`not logged in; see "studio login --help"`)
	errEnded = errors.New("has ended")
)

// usageError is bad input that an action found.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// failureError is what an action could not do with good input. Any other error that a command ends
// with, from the parsing of its flags on, is bad input.
type failureError struct{ error }

func (e failureError) Unwrap() error { return e.error }

// program is everything that the commands know of the world around them.
type program struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	// Terminal says that Stdout is one: the line of a watch is rewritten.
	Terminal bool

	// StderrTerminal says that Stderr is one: uploads and downloads show a bar there.
	StderrTerminal bool

	// ReadPassword reads a line that is not shown. Nil when Stdin is no terminal; then nothing is
	// asked for.
	ReadPassword func(context.Context) (string, error)

	// Env and WebhookSecret are what the environment says.
	Env           client.Config
	WebhookSecret string

	// Directory is where the login is kept. Empty when the user has none.
	Directory string

	transport *http.Transport
}

func newProgram() *program {
	p := &program{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Terminal:       term.IsTerminal(int(os.Stdout.Fd())),
		StderrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		Env:            client.FromEnv(),
		WebhookSecret:  os.Getenv("STUDIO_WEBHOOK_SECRET"),
	}
	if terminal := int(os.Stdin.Fd()); term.IsTerminal(terminal) {
		p.ReadPassword = func(ctx context.Context) (string, error) { return readPassword(ctx, terminal) }
	}
	if directory, err := os.UserConfigDir(); err == nil {
		p.Directory = filepath.Join(directory, "avatarstudio")
	}
	return p
}

// Run runs one command and returns the exit code. An error is one line on Stderr, where prompts and
// what listen says of itself go too. The first interrupt ends the command, the second one the process.
func (p *program) Run(ctx context.Context, args []string) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	p.transport = http.DefaultTransport.(*http.Transport).Clone()
	p.transport.DisableCompression = true // what is forwarded gets no header of ours
	defer p.transport.CloseIdleConnections()

	err := p.rootCommand().Run(ctx, args)
	code := exitCode(err)
	if err != nil && (code != exitInterrupted || errors.Is(err, client.ErrOutcomeUnknown)) {
		_, _ = fmt.Fprintf(p.Stderr, "studio: %s\n", printable(strings.Join(strings.Fields(err.Error()), " ")))
	}
	return code
}

func exitCode(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case !errors.As(err, new(failureError)) || errors.Is(err, client.ErrInvalid):
		return exitUsage
	case errors.Is(err, errEnded):
		return exitEnded
	case errors.Is(err, errLogin) || errors.Is(err, client.ErrUnauthorized) || errors.Is(err, client.ErrForbidden):
		return exitUnauthorized
	case errors.Is(err, client.ErrNotFound):
		return exitNotFound
	}
	return exitFailure
}
