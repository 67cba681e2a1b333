package harness

import (
	"context"
	"os/exec"
	"regexp"
	"slices"
)

// Daemon is a studiod that serves.
type Daemon struct {
	*Process

	URL      string
	AdminURL string // "" without --admin-addr
}

// Serve returns the command "studiod serve" on a free port, which may send webhooks to this machine. program is the path
// of studiod, which may come after a command that runs it.
func Serve(ctx context.Context, program []string, dsn string, args ...string) *exec.Cmd {
	words := slices.Concat(program, []string{
		"serve", "--log-format", "text", "--addr", "127.0.0.1:0", "--db", dsn, "--allow-http-webhooks", "--webhook-allow", "127.0.0.0/8",
	}, args)
	return exec.CommandContext(ctx, words[0], words[1:]...) //nolint:gosec // no shell
}

// StartDaemon starts a command of [Serve] and waits until it serves.
func StartDaemon(command *exec.Cmd) (*Daemon, error) {
	p, err := Start(command)
	if err != nil {
		return nil, err
	}
	d, err := p.awaitServing()
	if err != nil {
		p.Close()
	}
	return d, err
}

func (p *Process) awaitServing() (*Daemon, error) {
	if err := p.AwaitLog(`msg=serving url=`); err != nil {
		return nil, err
	}
	found := regexp.MustCompile(`(?s)(?:msg="serving operators" url=(\S+).*)?msg=serving url=(\S+)`).FindStringSubmatch(p.Log())
	return &Daemon{Process: p, URL: found[2], AdminURL: found[1]}, nil
}
