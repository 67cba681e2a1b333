package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/avatarstudio/avatarstudio/api/harness"
)

// runChild runs the server of the variant in args, or without args prints how long the first server.New of a process takes,
// in ns.
func runChild(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) > 0 {
		return runServer(ctx, args[0], in, out)
	}
	took, err := startUps(1)
	if err == nil {
		_, err = fmt.Fprintln(out, took[0].Nanoseconds())
	}
	return err
}

// runServer runs this program as the server of a variant. It prints its address, and then reads commands, one per line.
// The command "cpu" prints the CPU time that the process has used. A command with the name of a body and a time in ns
// serves that body for about that time without a network, and prints the cost per request. runServer returns at the
// end of its input.
func runServer(ctx context.Context, name string, in io.Reader, out io.Writer) error {
	handler, err := build(name)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	defer srv.Close()
	go func() { _ = srv.Serve(listener) }() // until the server is closed
	if _, err := fmt.Fprintln(out, listener.Addr()); err != nil {
		return err
	}
	benches := make(map[string]*bench)
	for body, text := range bodies() {
		if benches[body], err = newBench(handler, text); err != nil {
			return err
		}
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if err := runCommand(out, lines.Text(), benches); err != nil {
			return err
		}
	}
	return lines.Err()
}

// runCommand runs a command of runServer.
func runCommand(out io.Writer, line string, benches map[string]*bench) error {
	body, ns, ok := strings.Cut(line, " ")
	if !ok {
		used, err := cpuTime()
		if err == nil {
			_, err = fmt.Fprintln(out, used.Nanoseconds())
		}
		return err
	}
	slice, err := strconv.ParseInt(ns, 10, 64)
	if err != nil {
		return err
	}
	took, err := benches[body].run(time.Duration(slice))
	if err == nil {
		_, err = fmt.Fprintln(out, took.ns, took.cpu, took.bytes, took.allocs)
	}
	return err
}

func cpuTime() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, err
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}

func build(name string) (http.Handler, error) {
	for _, v := range variants() {
		if v.name == name {
			return v.build()
		}
	}
	return nil, fmt.Errorf("unknown variant %q", name)
}

// child is a variant that runs in its own process.
type child struct {
	*harness.Child
	name    string
	address string
}

func startChild(ctx context.Context, name string) (*child, error) {
	started, err := harness.StartChild(ctx, name)
	if err != nil {
		return nil, err
	}
	c := &child{Child: started, name: name}
	if c.address, err = c.readLine(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), c.Close())
	}
	return c, nil
}

func (c *child) readLine() (string, error) {
	line, err := c.Out.ReadString('\n')
	return strings.TrimSpace(line), err
}

func (c *child) cpu() (time.Duration, error) {
	line, err := c.send("cpu")
	if err != nil {
		return 0, err
	}
	ns, err := strconv.ParseInt(line, 10, 64)
	return time.Duration(ns), err
}

func (c *child) serve(body string, slice time.Duration) (took cost, err error) {
	line, err := c.send(body + " " + strconv.FormatInt(slice.Nanoseconds(), 10))
	if err == nil {
		_, err = fmt.Sscan(line, &took.ns, &took.cpu, &took.bytes, &took.allocs)
	}
	return took, err
}

func (c *child) send(line string) (string, error) {
	if _, err := fmt.Fprintln(c.In, line); err != nil {
		return "", err
	}
	return c.readLine()
}

// coldStartUps measures the first server.New in each of n new processes.
func coldStartUps(ctx context.Context, n int) ([]time.Duration, error) {
	var took []time.Duration
	for range n {
		c, err := harness.StartChild(ctx)
		if err != nil {
			return nil, err
		}
		var ns int64
		_, err = fmt.Fscanln(c.Out, &ns)
		if err := errors.Join(err, c.Close()); err != nil {
			return nil, err
		}
		took = append(took, time.Duration(ns))
	}
	return took, nil
}
