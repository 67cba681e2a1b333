package main

import (
	"fmt"

	"github.com/avatarstudio/avatarstudio/server/bench/daemon/measure"
)

type figure measure.Figure

// report is the result of a run.
type report struct {
	plan plan
	measure.Report[figure]
}

func (r *report) markdown() string {
	return fmt.Sprintf(`# Sustained load

One studiod with webhooks, metrics (read every %v), logs, encrypted keys and webhook secrets, default limits, and
simulated renderings that take no time. %d users create lip-syncs and list their projects. Each user has a token, an
idempotency key for each creation, and a receiver that verifies every webhook. SQLite is a file with synchronous=FULL.
PostgreSQL is a server with fsync=on. The load generator, the receivers, studiod and the database share the CPUs of one
machine.

The load is open: the arrival times of requests (a Poisson process) are fixed in advance and do not depend on
responses. Latencies and the delays of events count from the arrival time. A rate is sustained if the p99 latency is at
most %v, no request fails, and every event is delivered within %v. The search for the highest sustained rate ends within
10 %%. A rate that is not sustained while other programs use more than %.1f CPUs is measured again, up to %d times in
total. CPU usage is relative to one CPU, so 200 %% is two CPUs. Memory is the proportional set size (PSS) of studiod and
the processes of the database. The run fails if an event is lost, duplicated or wrongly signed. Reproduce with
`+"`make load`"+`. The figures depend on the machine and its other load.

%s

%s`, scrapeInterval, r.plan.users, maxLatency, maxDelay, maxOthersCPU, maxTries, measure.Machine(), r.Table())
}

func (u usage) String() string {
	text := "studiod " + u.percent(u.studiod)
	if u.database > 0 {
		text += ", database " + u.percent(u.database)
	}
	return text + ", load " + u.percent(u.load) + ", others " + u.percent(u.others) + ", stolen " + u.percent(u.stolen)
}

func latencies(s *result) string {
	return fmt.Sprintf("p50 %s, p99 %s, max %s", measure.Milliseconds(measure.Percentile(s.latencies, 50)),
		measure.Milliseconds(measure.Percentile(s.latencies, 99)), measure.Milliseconds(measure.Percentile(s.latencies, 100)))
}
