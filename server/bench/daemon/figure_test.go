package daemon_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server/bench/measure"
)

// figure is a measured value and its target.
type figure struct {
	name, target, measured string
	met                    bool
}

// String returns the measured value, and marks it if it misses the target.
func (f figure) String() string {
	if f.met {
		return f.measured
	}
	return "**missed:** " + f.measured
}

// measured are the figures of a database. Those of all databases have the same names in the same order.
type measured struct {
	database string
	figures  []figure
}

// table formats figures as a Markdown table. A target that differs from that of the first database is shown with the
// name of the database.
func table(all []measured) string {
	head, line := "| | Target |", "|---|---|"
	for _, m := range all {
		head, line = head+" "+m.database+" |", line+"---|"
	}
	var b strings.Builder
	b.WriteString(head + "\n" + line + "\n")
	for i, first := range all[0].figures {
		target, values := first.target, ""
		for _, m := range all {
			f := m.figures[i]
			if f.target != first.target {
				target += " (" + m.database + ": " + f.target + ")"
			}
			values += " " + f.String() + " |"
		}
		fmt.Fprintf(&b, "| %s | %s |%s\n", first.name, target, values)
	}
	return b.String()
}

// latencies are durations of calls or deliveries.
type latencies []time.Duration

func (l latencies) percentile(percent float64) time.Duration { return measure.Percentile(l, percent) }

func (l latencies) String() string {
	return fmt.Sprintf("%v, max %s", l.summary(), milliseconds(l.percentile(100)))
}

func (l latencies) summary() summary { return summary{l.percentile(50), l.percentile(99)} }

// summary summarizes latencies.
type summary struct{ p50, p99 time.Duration }

// medians returns the median of each latency.
func medians(all []summary) summary {
	var p50s, p99s []time.Duration
	for _, s := range all {
		p50s, p99s = append(p50s, s.p50), append(p99s, s.p99)
	}
	return summary{measure.Median(p50s), measure.Median(p99s)}
}

func (s summary) String() string {
	return fmt.Sprintf("p50 %s, p99 %s", milliseconds(s.p50), milliseconds(s.p99))
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(max(b, 1)) }

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1000) }

func mebibytes(n int64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }

func perSecond(rate float64) string { return fmt.Sprintf("%.0f/s", rate) }

// thousands formats a number with commas.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

func deliveryReport(table string, p plan) string {
	return fmt.Sprintf(`# Webhook delivery

studiod and the receiver are separate processes on one machine, connected over loopback. studiod has its default limits:
256 workers, and for each origin 4 concurrent attempts and 50 per second. Backlogs for many origins are delivered with
twice these limits, which would otherwise be what is measured. SQLite is a file with synchronous=FULL. PostgreSQL is a
server with fsync=on. The receiver verifies each signature and responds at once. Its connections have send buffers of 64
KiB, because the kernel would copy megabytes over loopback that no network carries before they are read.

Unless a row says otherwise, latency is the time from just before studiod writes an event to its arrival, so it includes
the commit. The number of rounds is %d. Rates and latencies are medians of the rounds, and values with "max" are their
maxima. The CPU time of a delivery and the memory of all processes are those of the round with the median rate. They
include the processes of the database, and this memory is the proportional set size (PSS). Other CPU and memory values
are those of studiod alone.
A rendering writes more rows than a creation, so creations, renderings and deliveries together are compared with two
creations and a delivery, each measured alone. On a machine that is too slow for a rate, the target is its ratio to a
floor. The CPU time of a request to the receiver includes that of its client.
The run fails if an event is lost, out of order or wrongly signed.
Reproduce with `+"`make bench-delivery`"+`. The figures depend on the machine and its other load.

%s.

%s
**Order**: The receiver rejects the first attempt of one event in ten with 500. **Hostile responses**: no response,
stalled reading, headers and bodies of one byte at a time, a body of 10 GB, a gzip bomb, 1 MiB of headers, and endless
informational responses. **Signatures** are not measured here: `+"`make check-foreign`"+` signs and verifies webhooks with
other libraries.
`, p.rounds, measure.Machine(), table)
}

func loadReport(table string, p plan) string {
	return fmt.Sprintf(`# Sustained load

One studiod with webhooks, metrics, logs, encrypted keys and webhook secrets, default limits, and
simulated renderings that take no time. %d users create lip-syncs. Each user has a token, an idempotency key for each
creation, and a receiver that verifies every webhook. SQLite is a file with synchronous=FULL.
PostgreSQL is a server with fsync=on. The load generator, the receivers, studiod and the database share the CPUs of one
machine.

The load is open: the arrival times of requests (a Poisson process) are fixed in advance and do not depend on
responses. Latencies and the delays of events count from the arrival time. A rate is sustained if the p99 latency is at
most %v, no request fails, and every event is delivered within %v. The highest sustained rate is found
within 20 %%. A rate that is not sustained is measured again, because other programs may use the machine.

The run fails if an event is lost, duplicated or wrongly signed. Reproduce with `+"`make load`"+`. The figures depend on the machine and its other load.

%s.

%s`, p.users, maxLatency, maxDelay, measure.Machine(), table)
}
