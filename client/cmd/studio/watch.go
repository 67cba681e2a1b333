package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
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

// watchCommand returns the command that watches a record until its status is final.
func (p *program) watchCommand(kind string, get func(id string) request) *cli.Command {
	return p.serviceLeaf("watch", "print each status of the "+noun(kind)+" until it is final; the exit code is 5 if creation failed", "ID",
		example(kind, "watch ID"), nil,
		func(ctx context.Context, command *cli.Command, c *client.Client) error {
			read := func(ctx context.Context) (*subject, error) { return send(ctx, c, get(command.Args().First())) }
			s, err := read(ctx)
			if err != nil {
				return err
			}
			return p.watch(ctx, command, kind, s, read)
		})
}

// watch prints s and each further status until one is final, and where the video is. It does not use
// [client.Client.WaitAvatar], which returns only the last status.
func (p *program) watch(ctx context.Context, command *cli.Command, kind string, s *subject, read func(context.Context) (*subject, error)) error {
	s, err := p.watchStatus(ctx, command, kind, s, read)
	if err != nil || command.Bool("json") {
		return err
	}
	if warnings := s.warnings(); warnings != "" {
		_, _ = fmt.Fprintf(p.Stderr, "warning: %s\n", warnings)
	}
	if video := gen.Or(cmp.Or(s.Video, s.VideoURL), ""); video != "" {
		_, err = fmt.Fprintf(p.Stderr, "watch it at %s\nor download it with: studio %s download %s -o %s.mp4\n",
			commandline.Printable(video), kind, commandline.Printable(s.id()), kind)
	}
	return err
}

// watchStatus prints the statuses of s, and returns it once it succeeded.
func (p *program) watchStatus(ctx context.Context, command *cli.Command, kind string, s *subject, read func(context.Context) (*subject, error)) (*subject, error) {
	progress := progress{program: p, json: command.Bool("json"), began: time.Now()}
	defer progress.end()
	for delay := firstPoll; ; delay = min(2*delay, slowestPoll) {
		if err := progress.show(s); err != nil {
			return nil, err
		}
		switch {
		case s.succeeded():
			return s, nil
		case s.failed() && s.FailureReason != nil:
			return nil, fmt.Errorf("%s %w: %s", noun(kind), errRecordFailed, *s.FailureReason)
		case s.failed():
			return nil, fmt.Errorf("%s %w: %s", noun(kind), errRecordFailed, s.Status)
		}
		if err := progress.wait(ctx, delay); err != nil {
			return nil, err
		}
		var err error
		if s, err = read(ctx); err != nil {
			return nil, err
		}
	}
}

// progress prints the state of a watched record. On a terminal it updates one line, and elsewhere it prints one
// line per status.
type progress struct {
	*program

	json  bool
	began time.Time
	last  string
	line  string
	left  string // end of the line
}

func (p *progress) rewrites() bool { return p.Terminal && !p.json }

func (p *progress) show(s *subject) (err error) {
	changed := s.Status != p.last
	p.last, p.line, p.left = s.Status, commandline.Printable(s.id()+" "+s.Status), ""
	switch {
	case p.rewrites():
		if s.Progress != nil && !s.failed() {
			p.line += " " + barText(int64(*s.Progress), 100)
		}
		if s.ProgressStage != nil {
			p.line += " " + commandline.Printable(*s.ProgressStage)
		}
		if s.SecondsLeft != nil {
			p.left = fmt.Sprintf(", about %v left", time.Duration(*s.SecondsLeft)*time.Second)
		}
		return p.rewrite()
	case !changed:
		return nil
	case p.json:
		return commandline.PrintJSON(p.Stdout, json.RawMessage(s.document))
	}
	_, err = fmt.Fprintln(p.Stdout, p.line)
	return err
}

func (p *progress) rewrite() error {
	_, err := fmt.Fprintf(p.Stdout, "%s%s %s%s", clearLine, p.line, time.Since(p.began).Truncate(time.Second), p.left)
	return err
}

// wait waits for delay and keeps updating the elapsed time on a terminal.
func (p *progress) wait(ctx context.Context, delay time.Duration) error {
	timer, second := time.NewTimer(delay), time.NewTicker(time.Second)
	defer timer.Stop()
	defer second.Stop()
	for {
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-second.C:
			if p.rewrites() {
				if err := p.rewrite(); err != nil {
					return err
				}
			}
		}
	}
}

func (p *progress) end() {
	if p.rewrites() {
		_, _ = fmt.Fprintln(p.Stdout)
	}
}
