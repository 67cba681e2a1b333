package harness

import (
	"context"
	"os/exec"
	"regexp"
	"slices"
	"testing"
)

// Daemon is a studiod that serves.
type Daemon struct {
	*Process

	URL      string
	AdminURL string // "" without --admin-addr
}

// Serve returns the command "studiod serve" on a free port, which may send webhooks to this machine. program is the
// path of studiod, which may come after a command that runs it.
func Serve(ctx context.Context, program []string, dsn string, args ...string) *exec.Cmd {
	words := slices.Concat(program, []string{
		"serve", "--log-format", "text", "--addr", "127.0.0.1:0", "--db", dsn, "--webhook-allow", "http,127.0.0.0/8",
	}, args)
	return exec.CommandContext(ctx, words[0], words[1:]...) //nolint:gosec // no shell
}

// RunDaemon starts a command of [Serve] that is killed after the test, and waits until it serves.
func RunDaemon(t testing.TB, command *exec.Cmd) *Daemon {
	t.Helper()
	p := Run(t, command)
	Check(t, p.AwaitLog(`msg=serving url=`))
	found := regexp.MustCompile(`(?s)(?:msg="serving operators" url=(\S+).*)?msg=serving url=(\S+)`).FindStringSubmatch(p.Log())
	return &Daemon{Process: p, URL: found[2], AdminURL: found[1]}
}
