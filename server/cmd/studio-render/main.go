// Studio-render renders avatars, videos and lip-syncs on any CPU, with ffmpeg. It reads one request from
// its standard input and writes messages to its standard output, as described in package protocol.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
