// Command load puts studiod under an open load, on each database: requests arrive at times that are
// fixed beforehand, whether or not those before them are answered, and their latency counts from then.
// Each of its users has a token, an idempotency key for each creation, and a receiver that verifies the
// webhooks. It holds one rate for a minute, searches the highest rate that is held, and puts both beside
// what the database and net/http do alone in the same run. "go run ." writes ../LOAD.md; "go run .
// -short" takes seconds, prints, and writes nothing. It fails when an event is lost, comes twice or is
// wrongly signed, never because something is slow. Memory and CPU time are read from /proc and are 0
// where there is none.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has been called
	}
}

// plan says how much to measure.
type plan struct {
	users     int
	creations int           // a second, for long
	lists     int           // a second, for listing
	long      time.Duration // of creations
	listing   time.Duration
	step      time.Duration // of a search
	most      int           // a second, of a search
	floor     time.Duration
	patience  time.Duration // with others who use the machine, before each rate
}

func full() plan {
	return plan{
		users: 100, creations: 500, lists: 5000, long: time.Minute, listing: 20 * time.Second, step: 10 * time.Second,
		most: 1 << 20, floor: 3 * time.Second, patience: 20 * time.Second,
	}
}

func short() plan {
	return plan{
		users: 3, creations: 20, lists: 50, long: 500 * time.Millisecond, listing: 200 * time.Millisecond,
		step: 100 * time.Millisecond, most: 100, floor: 50 * time.Millisecond,
	}
}

func run(ctx context.Context, args []string, in io.Reader, out, progress io.Writer) (err error) {
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	flags.SetOutput(progress)
	inSeconds := flags.Bool("short", false, "measure little and write no file")
	file := flags.String("o", "../LOAD.md", "file to write")
	only := flags.String("database", "", "measure "+sqliteName+" or "+postgresName+" alone, and write no file")
	profile := flags.String("profile", "", "write a CPU profile of studiod under each rate into this directory")
	role := flags.Bool("bare", false, "for this program itself: answer with what comes in")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *role {
		return bareRole(ctx, in, out)
	}
	p := full()
	if *inSeconds {
		p = short()
	}
	directory, err := os.MkdirTemp("", "load")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()
	program, err := buildDaemon(ctx, directory)
	if err != nil {
		return err
	}
	r := report{plan: p}
	for _, name := range []string{sqliteName, postgresName} {
		if *only != "" && name != *only {
			continue
		}
		fmt.Fprintln(progress, "measuring:", name)
		s := scene{plan: p, name: name, progress: progress, directory: directory, program: program, profile: *profile}
		figures, err := s.measure(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		r.add(name, figures)
	}
	text := r.markdown()
	if _, err := io.WriteString(out, text); err != nil || *inSeconds || *only != "" {
		return err
	}
	return os.WriteFile(*file, []byte(text), 0o600)
}
