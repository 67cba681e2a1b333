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
