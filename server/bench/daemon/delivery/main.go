// Command delivery measures how studiod delivers events on each database. It compares the rates with two floors of the
// same run: plain transactions of the database, and plain requests to the receiver. studiod and the receiver run as
// separate processes.
//
// "go run ." writes ../../DELIVERY.md. "go run . -short" takes a minute and only prints. The command fails if an event
// is lost, out of order or wrongly signed, but not if it is slow. Memory and CPU time are read from /proc; without it,
// they are 0.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/avatarstudio/avatarstudio/api/harness"
	"github.com/avatarstudio/avatarstudio/server/bench/daemon/measure"
)

func main() {
	harness.RunChild(runReceiver)
	harness.Main("delivery", run)
}

// plan is the extent of the measurements.
type plan struct {
	rounds         int           // of each measurement; the report shows medians
	ports          int           // ports of the receiver; each is an origin with its own limits
	floor          time.Duration // duration of each floor
	backlog        int           // events for the throughput
	single         int           // events to one origin
	paced          int           // events at 50 per second, for latencies
	besideHung     int           // events to a healthy origin beside a hanging or flooding origin
	besideNew      int           // events to a healthy origin beside new hanging origins
	hangingOrigins int           // number of new hanging origins
	stopDuration   time.Duration // how long a daemon is stopped
	daemons        []int         // numbers of daemons on one database
	kills          int           // on SQLite; a quarter of it on PostgreSQL
	killed         int           // events per kill
	ordered        int           // events whose order is verified
	subjects       int           // subjects of the ordered events
	restarts       int           // kills while ordered events are delivered
	waiting        int           // events that wait for a hanging origin
	idle           time.Duration // duration of the idle measurement
	projects       int
	creating       time.Duration // duration of each measurement of creations
}

func full() plan {
	return plan{
		rounds: 5, ports: 128, floor: time.Second, backlog: 20_000, single: 100, paced: 250, besideHung: 160,
		besideNew: 800, hangingOrigins: 1000, stopDuration: 40 * time.Second, daemons: []int{1, 2, 4}, kills: 20, killed: 1000,
		ordered: 100_000, subjects: 1000, restarts: 5, waiting: 100_000, idle: 20 * time.Second, projects: 100_000, creating: 3 * time.Second,
	}
}

func short() plan {
	return plan{
		rounds: 1, ports: 16, floor: 50 * time.Millisecond, backlog: 200, single: 10, paced: 20, besideHung: 20,
		besideNew: 20, hangingOrigins: 50, stopDuration: time.Second, daemons: []int{2}, kills: 1, killed: 200,
		ordered: 200, subjects: 100, restarts: 1, waiting: 1000, idle: 200 * time.Millisecond, projects: 1000, creating: 100 * time.Millisecond,
	}
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("delivery", flag.ContinueOnError)
	flags.SetOutput(progress)
	isShort := flags.Bool("short", false, "measure for a minute only, and write no file")
	file := flags.String("o", "../../DELIVERY.md", "file to write")
	rounds := flags.Int("rounds", 0, "rounds of each measurement; the report shows medians (default 5, and 1 with -short)")
	ordered := flags.Int("ordered", 0, "events whose order is verified (default 100,000, and 200 with -short)")
	only := flags.String("row", "", "measure this row only, such as throughput, and write no file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	p := full()
	if *isShort {
		p = short()
	}
	if *rounds > 0 {
		p.rounds = *rounds
	}
	if *ordered > 0 {
		p.ordered = *ordered
	}
	r := report{plan: p}
	err := measure.EachDatabase(ctx, func(program, _ string, kind *measure.Databases) error {
		figures, err := measureRows(ctx, p, kind, program, *only, progress)
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

type figure measure.Figure

func (f figure) String() string { return measure.Figure(f).String() }

// row is a benchmark with one or more figures. Each row has its own database.
type row struct {
	name    string
	ports   map[string]int // number of receiver ports by response mode
	measure func(ctx context.Context, s *setup) ([]figure, error)
}

func rows(p plan) []row {
	return []row{
		{"throughput", map[string]int{accepts: p.ports}, throughput},
		{"latency", map[string]int{accepts: latencyPorts}, latency},
		{"hung receiver", map[string]int{accepts: 1, hangs: 1}, hungReceiver},
		{"new origins of one user", map[string]int{accepts: 1, hangs: p.hangingOrigins}, newOrigins(1)},
		{"new origins of many users", map[string]int{accepts: 1, hangs: p.hangingOrigins}, newOrigins(min(100, p.hangingOrigins))},
		{"floods", map[string]int{accepts: 1, floods: floodPorts}, flooded},
		{"stopped daemon", map[string]int{accepts: sharedPorts}, stoppedDaemon},
		{"daemons", map[string]int{accepts: p.ports}, daemons},
		{"kills", map[string]int{accepts: p.ports}, kills},
		{"order", map[string]int{fails: p.ports}, order},
		{"hostile receivers", map[string]int{accepts: hostilePorts, hostile: hostilePorts}, hostileResponses},
		{"waiting events", map[string]int{accepts: latencyPorts, hangs: 1}, waiting},
		{"idle", map[string]int{accepts: 1}, idle},
		{"projects", map[string]int{accepts: 1}, projects},
		{"creations", map[string]int{accepts: p.ports}, creationRate},
		{"creation to receiver", map[string]int{accepts: latencyPorts}, createdToReceived},
		{"large creations", map[string]int{accepts: latencyPorts}, largeCreations},
	}
}

// measureRows measures every row on one kind of database. If only is not "", it measures only the row with this name.
func measureRows(ctx context.Context, p plan, kind *measure.Databases, program, only string, progress io.Writer) ([]figure, error) {
	var all []figure
	for _, row := range rows(p) {
		if only != "" && row.name != only {
			continue
		}
		fmt.Fprintf(progress, "measuring: %s, %s\n", kind.Name, row.name)
		figures, err := row.run(ctx, p, kind, program)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", row.name, err)
		}
		for _, f := range figures {
			fmt.Fprintf(progress, "  %s: %s\n", f.Name, f)
		}
		all = append(all, figures...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("unknown row %q", only)
	}
	return all, nil
}

// run measures the row with a new database and receiver. It stops the receiver and all daemons before it returns.
func (r row) run(ctx context.Context, p plan, kind *measure.Databases, program string) (figures []figure, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	db, err := createDatabase(ctx, kind, program)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Drop()) }() //nolint:contextcheck // ctx has ended
	receiver, err := startReceiver(ctx, receiverConfig{Secret: db.secret, Ports: r.ports})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, receiver.Close()) }()
	s := &setup{plan: p, db: db, receiver: receiver}
	if figures, err = r.measure(ctx, s); err != nil && s.d != nil {
		err = s.d.WithLog(err)
	}
	for _, d := range s.daemons {
		d.Close()
	}
	return figures, err
}

// setup is the environment of one row.
type setup struct {
	plan
	db       *database
	receiver *receiverClient
	daemons  []*daemon // all daemons that were started
	d        *daemon   // the daemon that was started last
}

// start starts a daemon with additional flags.
func (s *setup) start(ctx context.Context, more ...string) error {
	d, err := harness.StartDaemon(harness.Serve(ctx, []string{s.db.program}, s.db.DSN, append([]string{"--renderer=simulate:0s"}, more...)...))
	if err == nil {
		s.d = &daemon{d}
		s.daemons = append(s.daemons, s.d)
	}
	return err
}

// startAndLogin is like start. It returns a token of the user.
func (s *setup) startAndLogin(ctx context.Context, more ...string) (token string, err error) {
	if err := s.start(ctx, more...); err != nil {
		return "", err
	}
	return s.d.login(ctx, email)
}

// running returns the number of running daemons.
func (s *setup) running() (n int) {
	for _, d := range s.daemons {
		if d.Running() {
			n++
		}
	}
	return n
}

// stopAll stops all running daemons.
func (s *setup) stopAll() error {
	var errs []error
	for _, d := range s.daemons {
		if d.Running() {
			errs = append(errs, d.Stop())
		}
	}
	return errors.Join(errs...)
}

// cpu returns the CPU time of all running daemons.
func (s *setup) cpu() (used time.Duration) {
	for _, d := range s.daemons {
		if d.Running() {
			used += d.CPU()
		}
	}
	return used
}
