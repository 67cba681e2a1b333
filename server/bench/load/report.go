package main

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// figure is what was measured beside what is wanted.
type figure struct {
	name, wanted, measured string
	met                    bool
}

// report is what one run measured.
type report struct {
	plan  plan
	kinds []string
	all   [][]figure // the same rows for each kind
}

func (r *report) add(kind string, figures []figure) {
	r.kinds, r.all = append(r.kinds, kind), append(r.all, figures)
}

func (r *report) markdown() string {
	return fmt.Sprintf(`# What studiod holds

One studiod with everything on: webhooks, metrics that are read every %v, logs, keys and webhook secrets encrypted,
its limits as they are by default, and a simulated renderer that takes no time. %d users create lip-syncs and list their
projects; each has a token, an idempotency key for each creation and a receiver of his own, which verifies every
webhook. SQLite is a file with synchronous=FULL, PostgreSQL a server with fsync=on. The requests, the receivers, studiod
and the database share the CPUs of one machine.

The load is open: requests arrive at random times that are fixed beforehand (a Poisson process), whether or not those
before them are answered. Latencies and the delays of events count from then. A rate is held when 99 %% of the requests
are answered within %v, none fails, and every event is delivered within %v; the highest is known to a tenth. A rate
that is not held while others use more than %.1f of a processor is tried again, up to %d times in all. CPU is that of
one processor: 200 %% are two. Memory is that of studiod and of all processes of the database, as PSS. The run fails
when an event is lost, comes twice or is wrongly signed. Reproduce with `+"`make load`"+`; figures depend on the machine and
on what else it does.

%s %s/%s, %d CPUs.

%s`, scrape, r.plan.users, mostLatency, mostDelay, little, tries, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), r.table())
}

func (r *report) table() string {
	var b strings.Builder
	b.WriteString("| | Target | " + strings.Join(r.kinds, " | ") + " |\n|---|---" + strings.Repeat("|---", len(r.kinds)) + "|\n")
	for i, row := range r.all[0] {
		fmt.Fprintf(&b, "| %s | %s |", row.name, row.wanted)
		for _, figures := range r.all {
			fmt.Fprintf(&b, " %s |", figures[i])
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (f figure) String() string {
	if f.met {
		return f.measured
	}
	return "**missed:** " + f.measured
}

func (u usage) String() string {
	text := "studiod " + u.share(u.studiod)
	if u.database > 0 {
		text += ", database " + u.share(u.database)
	}
	return text + ", load " + u.share(u.load) + ", others " + u.share(u.others) + ", stolen " + u.share(u.stolen)
}

func latencies(s *step) string {
	return fmt.Sprintf("p50 %s, p99 %s, at most %s", milliseconds(percentile(s.latencies, 50)),
		milliseconds(percentile(s.latencies, 99)), milliseconds(percentile(s.latencies, 100)))
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1000) }

func mebibytes(n int64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }

// thousands writes a number with a comma before the last three digits.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}
