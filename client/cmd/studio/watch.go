package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

const (
	firstPoll   = 250 * time.Millisecond
	slowestPoll = 2 * time.Second
)

// watchOne watches a record until its status is final.
func (p *program) watchOne(ctx context.Context, command *cli.Command, c *client.Client, k kind) error {
	s, err := send(ctx, c, k.get(command.Args().First()))
	if err != nil {
		return err
	}
	return p.watch(ctx, command, c, k, s)
}

// watch prints s and the statuses that it reads until one is final, and where the video is. It does not use
// [client.Client.WaitAvatar], which returns only the last status.
func (p *program) watch(ctx context.Context, command *cli.Command, c *client.Client, k kind, s *subject) error {
	s, err := p.watchStatus(ctx, command, c, k, s)
	if err != nil || command.Bool("json") {
		return err
	}
	if warnings := s.warnings(); warnings != "" {
		_, _ = fmt.Fprintf(p.Stderr, "warning: %s\n", warnings)
	}
	if video := gen.Or(cmp.Or(s.Video, s.VideoURL), ""); video != "" {
		_, err = fmt.Fprintf(p.Stderr, "watch it at %s\nor download it with: studio %s download %s -o %[2]s.mp4\n",
			commandline.Printable(video), k.name, commandline.Printable(s.id()))
	}
	return err
}

// watchStatus prints the statuses of s, and returns it once it succeeded.
func (p *program) watchStatus(ctx context.Context, command *cli.Command, c *client.Client, k kind, s *subject) (*subject, error) {
	progress := progress{program: p, json: command.Bool("json"), began: time.Now()}
	defer progress.end()
	for delay := firstPoll; ; delay = min(2*delay, slowestPoll) {
		err := progress.show(s)
		switch {
		case err != nil:
			return nil, err
		case s.succeeded():
			return s, nil
		case s.failed():
			return nil, fmt.Errorf("%s %w: %s", k.noun, errRecordFailed, gen.Or(s.FailureReason, s.Status))
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if s, err = send(ctx, c, k.get(s.id())); err != nil {
			return nil, err
		}
	}
}

// progress prints the state of a watched record. On a terminal it updates one line below the id, and elsewhere it
// prints one line per status.
type progress struct {
	*program

	json  bool
	began time.Time
	last  string
}

func (p *progress) rewrites() bool { return p.Terminal && !p.json }

func (p *progress) show(s *subject) (err error) {
	changed, id, line := s.Status != p.last, commandline.Printable(s.id()), commandline.Printable(s.Status)
	switch {
	case p.rewrites():
		if p.last == "" {
			_, _ = fmt.Fprintln(p.Stdout, id) // the next write returns the error
		}
		if s.Progress != nil && !s.failed() {
			line += " " + barText(int64(*s.Progress), 100)
		}
		if s.ProgressStage != nil {
			line += " " + commandline.Printable(*s.ProgressStage)
		}
		line += " " + time.Since(p.began).Truncate(time.Second).String()
		if s.SecondsLeft != nil {
			line += fmt.Sprintf(", about %v left", time.Duration(*s.SecondsLeft)*time.Second)
		}
		_, err = io.WriteString(p.Stdout, clearLine+line+uncut)
	case changed && p.json:
		err = commandline.PrintJSON(p.Stdout, s)
	case changed:
		_, err = fmt.Fprintln(p.Stdout, id, line)
	}
	p.last = s.Status
	return err
}

func (p *progress) end() {
	if p.rewrites() {
		_, _ = fmt.Fprintln(p.Stdout)
	}
}
