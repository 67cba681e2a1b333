package commandline

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"

	"golang.org/x/term"
)

// maxLine is longer than any password.
const maxLine = 4096

// ReadLine reads the first line of in, of which it returns 4,096 bytes at most. It may read more than the line.
func ReadLine(ctx context.Context, in io.Reader) (string, error) {
	return interruptible(ctx, func() (string, error) {
		line, err := bufio.NewReader(io.LimitReader(in, maxLine)).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return strings.TrimRight(line, "\r\n"), err
	})
}

// ReadPassword reads a line from a terminal without echo. It restores the terminal when ctx ends.
func ReadPassword(ctx context.Context, terminal int) (string, error) {
	state, err := term.GetState(terminal)
	if err != nil {
		return "", err
	}
	password, err := interruptible(ctx, func() (string, error) {
		line, err := term.ReadPassword(terminal)
		return string(line), err
	})
	if ctx.Err() != nil {
		_ = term.Restore(terminal, state)
	}
	return password, err
}

// interruptible returns when ctx ends, even if read is still blocked. The process exits soon afterwards
// and ends read.
func interruptible(ctx context.Context, read func() (string, error)) (string, error) {
	var line string
	done := make(chan error, 1)
	go func() {
		got, err := read()
		line = got
		done <- err
	}()
	select {
	case err := <-done:
		return line, err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
