package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

// untilStopped returns a context that ends when the process is told to stop, by SIGINT or SIGTERM. A second one kills
// the process.
//
// SIGHUP of a terminal that is closed also stops the process. Without a terminal, SIGHUP asks a daemon to read its
// settings again. It is ignored then: certificates and key files are read when they change. SIGPIPE is ignored, because
// a reader of the log that ends must not end the daemon.
func untilStopped(ctx context.Context) context.Context {
	stops, ignores := []os.Signal{os.Interrupt, syscall.SIGTERM}, []os.Signal{syscall.SIGPIPE}
	switch {
	case signal.Ignored(syscall.SIGHUP): // by nohup
	case term.IsTerminal(int(os.Stdin.Fd())):
		stops = append(stops, syscall.SIGHUP)
	default:
		ignores = append(ignores, syscall.SIGHUP)
	}
	ignored := make(chan os.Signal, 1) // nobody reads it; other programs would inherit signal.Ignore
	signal.Notify(ignored, ignores...)
	context.AfterFunc(ctx, func() { signal.Stop(ignored) })
	stopped, stop := signal.NotifyContext(ctx, stops...)
	context.AfterFunc(stopped, func() {
		if len(stops) > 2 {
			signal.Ignore(syscall.SIGHUP) // the kernel and the shell may both send one
		}
		stop()
	})
	return stopped
}
