package main

import (
	"fmt"

	"github.com/avatarstudio/avatarstudio/server/bench/daemon/measure"
)

// report is the result of a run.
type report struct {
	plan plan
	measure.Report[figure]
}

func (r *report) markdown() string {
	return fmt.Sprintf(`# Webhook delivery

studiod and the receiver are separate processes on one machine, connected over loopback. studiod has its default limits:
256 workers, and for each origin 4 concurrent attempts and 50 per second. SQLite is a file with synchronous=FULL.
PostgreSQL is a server with fsync=on. The receiver verifies each signature and responds at once.

Unless a row says otherwise, latency is the time from just before studiod writes an event to its arrival, so it includes
the commit. The number of rounds is %d. Rates, latencies and times to the first byte are medians of the rounds, and values
with "max" are their maxima. The CPU time of a delivery and the memory of all processes include the processes of the
database, and this memory is the proportional set size (PSS). Other CPU and memory values are those of studiod alone.
Several daemons share the CPUs of this machine, so they deliver no faster than one. The limit of the database is the
rate at which it would use all CPUs by itself. The run fails if an event is lost, out of order or wrongly signed.
Reproduce with `+"`make bench-delivery`"+`. The figures depend on the machine and its other load.

%s

%s
**Order**: The receiver rejects the first attempt of one event in ten with 500. **Hostile responses**: no response,
stalled reading, headers and bodies of one byte at a time, a body of 10 GB, a gzip bomb, 1 MiB of headers, and endless
informational responses. **Signatures** are not measured here: `+"`make check-foreign`"+` signs and verifies webhooks with
other libraries.
`, r.plan.rounds, measure.Machine(), r.Table())
}

func median(values []float64) float64 { return measure.Percentile(values, 50) }
