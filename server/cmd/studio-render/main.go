// Studio-render renders avatars, videos and lip-syncs on any CPU, with ffmpeg. It reads one request from
// its standard input and writes messages to its standard output, as described in package protocol.
//
//	studio-render < request
//
// The exit status is 0 after a result, and after a failure that is the input's fault, which is a message. It is
// 2 for arguments or a request that violates the protocol, and 1 for any other failure, such as a missing
// program. Then one line is written to standard error.
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
