// Command load measures studiod under an open load on each database: the arrival times of requests are fixed in
// advance and do not depend on responses, and latencies count from them. Each user has a token, an idempotency key
// for each creation, and a receiver that verifies the webhooks. The command measures one rate for a minute, searches
// the highest sustained rate, and compares it with a floor: the database or net/http alone.
//
// "go run ." writes ../../LOAD.md. "go run . -short" takes seconds and only prints. The command fails if an event is
// lost, duplicated or wrongly signed, but not if it is slow. Memory and CPU time are read from /proc; without it,
// they are 0.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/avatarstudio/avatarstudio/api/harness"
	"github.com/avatarstudio/avatarstudio/server/bench/daemon/measure"
)

func main() {
	harness.RunChild(serveBare)
	harness.Main("load", run)
}

// plan is the extent of the measurements. Rates are per second.
type plan struct {
	users            int
	creations        int // rate
	lists            int // rate
	creationDuration time.Duration
	listDuration     time.Duration
	searchStep       time.Duration // duration of each rate of a search
	maxRate          int           // at which a search ends
	floorDuration    time.Duration
	idleWait         time.Duration // longest wait for an idle machine before each rate
}

func full() plan {
	return plan{
		users: 100, creations: 500, lists: 5000, creationDuration: time.Minute, listDuration: 20 * time.Second,
		searchStep: 10 * time.Second, maxRate: 1 << 20, floorDuration: 3 * time.Second, idleWait: 20 * time.Second,
	}
}

func short() plan {
	return plan{
		users: 3, creations: 20, lists: 50, creationDuration: 500 * time.Millisecond, listDuration: 200 * time.Millisecond,
		searchStep: 100 * time.Millisecond, maxRate: 100, floorDuration: 50 * time.Millisecond,
	}
}

// gcPercent leaves most of the CPU time to the measured programs.
const gcPercent = 400

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	flags.SetOutput(progress)
	isShort := flags.Bool("short", false, "measure for seconds only, and write no file")
	file := flags.String("o", "../../LOAD.md", "file to write")
	only := flags.String("database", "", "measure "+measure.SQLite+" or "+measure.PostgreSQL+" only, and write no file")
	profile := flags.String("profile", "", "write a CPU profile of studiod at each rate to this directory")
	if err := flags.Parse(args); err != nil {
		return err
	}
	debug.SetGCPercent(gcPercent)
	p := full()
	if *isShort {
		p = short()
	}
	r := report{plan: p}
	err := measure.EachDatabase(ctx, func(program, directory string, kind *measure.Databases) error {
		if *only != "" && kind.Name != *only {
			return nil
		}
		fmt.Fprintln(progress, "measuring:", kind.Name)
		s := setup{plan: p, progress: progress, directory: directory, program: program, profile: *profile}
		figures, err := s.measure(ctx, kind)
		r.Add(kind.Name, figures)
		return err
	})
	if err != nil {
		return err
	}
	text := r.markdown()
	if _, err := io.WriteString(out, text); err != nil || *isShort || *only != "" {
		return err
	}
	return os.WriteFile(*file, []byte(text), 0o600)
}
