package main

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/avatarstudio/avatarstudio/server/bench/daemon/harness"
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
type daemon struct{ *harness.Daemon }
