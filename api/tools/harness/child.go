package harness

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
)

// asChild is the environment variable of a process that [StartChild] started.
const asChild = "HARNESS_CHILD"

// Child is a process of this program that does other work than its parent, so that the work of each can be measured. It
// ends at the end of its input.
type Child struct {
	In  io.WriteCloser
	Out *bufio.Reader

	command *exec.Cmd
}

// StartChild starts this program with arguments as a child; see [RunChild].
func StartChild(ctx context.Context, args ...string) (*Child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &Child{command: exec.CommandContext(ctx, program, args...)} //nolint:gosec // this program
	c.command.Env, c.command.Stderr = append(os.Environ(), asChild+"=1"), os.Stderr
	if c.In, err = c.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.Out = bufio.NewReader(out)
	return c, c.command.Start()
}

// RunChild does nothing unless this process is a child. In a child, it calls run and exits. The functions main and
// TestMain call it first.
func RunChild(run func(ctx context.Context, args []string, in io.Reader, out io.Writer) error) {
	if os.Getenv(asChild) == "" {
		return
	}
	if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout); err != nil {
		_, _ = io.WriteString(os.Stderr, err.Error()+"\n")
		os.Exit(1)
	}
	os.Exit(0)
}

// Close ends the input of the process and waits until it has exited.
func (c *Child) Close() error { return errors.Join(c.In.Close(), c.command.Wait()) }
