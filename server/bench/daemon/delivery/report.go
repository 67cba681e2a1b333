package main

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/bench/daemon/harness"
)

// report contains the results of one run.
type report struct {
	plan  plan
	kinds []string
	all   [][]figure // the same rows for each kind
}

func (r *report) add(kind string, figures []figure) {
	r.kinds, r.all = append(r.kinds, kind), append(r.all, figures)
}

func (r *report) markdown() string {
	return fmt.Sprintf(`# What delivery achieves

studiod and the receiver are processes of their own on one machine, over loopback, with the limits that studiod has by
default: 256 workers; for each origin 4 in flight and 50 a second. SQLite is a file with synchronous=FULL, PostgreSQL a
server with fsync=on. Latencies are from just before an event is written, so the commit counts. The receiver verifies
each signature and answers at once. Throughput, latencies and first bytes are medians of %d rounds; what is at most is
the worst of all. CPU and memory are those of studiod and of all processes of the server together, memory as PSS. With
several daemons, all share the CPUs of this machine, so that more of them make nothing faster here: what the database
takes for each delivery says where it would be the limit. The run fails when an event is lost, out of order or wrongly
signed. Reproduce with
`+"`make bench-delivery`"+`; figures depend on the machine and on what else it does.

%s %s/%s, %d CPUs.

%s
**Order**: of the events, one in ten is answered with 500 at its first attempt.
**Hostile answers**: none at all, stalled reading, headers and bodies of a byte at a time, a body of 10 GB, a gzip bomb,
1 MiB of headers, and endless informational answers. **Signatures** have no figure here: `+"`make check-foreign`"+` signs and
verifies both ways with other libraries, in api/standardwebhooks/testdata/foreign.
`, r.plan.rounds, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), r.table())
}

func (r *report) table() string {
	var b strings.Builder
	b.WriteString("| | Target | " + strings.Join(r.kinds, " | ") + " |\n|---|---" + strings.Repeat("|---", len(r.kinds)) + "|\n")
	for i := range r.all[0] {
		wanted := r.all[0][i].wanted
		for k, figures := range r.all[1:] {
			if other := figures[i].wanted; other != wanted {
				wanted += " (" + r.kinds[k+1] + ": " + other + ")"
			}
		}
		fmt.Fprintf(&b, "| %s | %s |", r.all[0][i].name, wanted)
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

func median(values []float64) float64 { return harness.Percentile(values, 50) }
