package main

import (
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v3"
)

const (
	firstPoll   = 250 * time.Millisecond
	slowestPoll = 2 * time.Second
)

// watchCommand makes the command that follows a subject to its end.
func (p *program) watchCommand(kind string, get func(id string) request) *cli.Command {
	return leaf("watch", "print each state of the "+kind+" until it has ended; exit code 5 unless that is a success", "ID",
		example(kind, "watch ID"), serviceFlags(),
		func(ctx context.Context, command *cli.Command) error {
			c, err := p.service(command)
			if err != nil {
				return err
			}
			read := func(ctx context.Context) (*subject, error) { return ask(ctx, c, get(command.Args().First())) }
			s, err := read(ctx)
			if err != nil {
				return err
			}
			return p.watch(ctx, command, kind, s, read)
		})
}

// watch shows s, and each other state that read answers, until one is final. It asks by itself in
// place of [client.Client.WaitAvatar] and its like, because those show the last state only.
func (p *program) watch(ctx context.Context, command *cli.Command, kind string, s *subject, read func(context.Context) (*subject, error)) error {
	progress := progress{program: p, json: command.Bool("json"), began: time.Now()}
	defer progress.end()
	for bound := firstPoll; ; bound = min(2*bound, slowestPoll) {
		if err := progress.show(s); err != nil {
			return err
		}
		switch {
		case s.succeeded():
			return nil
		case s.failed() && s.FailureReason != nil:
			return fmt.Errorf("the %s %w: %s (%s)", kind, errEnded, s.Status, *s.FailureReason)
		case s.failed():
			return fmt.Errorf("the %s %w: %s", kind, errEnded, s.Status)
		}
		if err := progress.wait(ctx, bound); err != nil {
			return err
		}
		var err error
		if s, err = read(ctx); err != nil {
			return err
		}
	}
}

// progress is what is shown while a subject is watched: on a terminal one line that is rewritten,
// elsewhere a line for each state.
type progress struct {
	*program

	json  bool
	began time.Time
	last  string
	line  string
	pace  pace
	left  string // the end of the line
}

func (p *progress) rewrites() bool { return p.Terminal && !p.json }

func (p *progress) show(s *subject) (err error) {
	changed := s.Status != p.last
	p.last, p.line, p.left = s.Status, printable(s.id()+" "+s.Status), ""
	switch {
	case p.rewrites():
		if s.Progress != nil && !s.failed() {
			done := int64(*s.Progress)
			p.line, p.left = p.line+" "+picture(done, 100), p.pace.left(done, 100)
		}
		return p.rewrite()
	case !changed:
		return nil
	case p.json:
		return printJSON(p.Stdout, s.document)
	}
	_, err = fmt.Fprintln(p.Stdout, p.line)
	return err
}

func (p *progress) rewrite() error {
	_, err := fmt.Fprintf(p.Stdout, "%s%s %s%s", clearLine, p.line, time.Since(p.began).Truncate(time.Second), p.left)
	return err
}

// wait lets the time on a terminal go on.
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
