package daemon_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/server/bench/measure"
)

const (
	posters = 64 // concurrent requests of the baseline
	maxWait = 10 * time.Minute
	// maxMemory is the target for the memory of all processes after the delivery of a backlog, in bytes.
	maxMemory = 446 << 20

	// minDelivered is the target in deliveries per second. A machine with slow requests cannot reach it or the CPU time
	// of a delivery, so both may also be reached relative to the requests to the receiver.
	minDelivered     = 7500
	minOfRequests    = 0.12
	maxRequestsOfCPU = 4.5
)

// targets are the targets that depend on the database.
type targets struct {
	cpu       time.Duration // CPU time of all processes per delivery
	p99       time.Duration // from commit to arrival
	created   time.Duration // from the response to a creation to the arrival of its event, p99
	creations float64       // of the durable transactions of one row, which have no index
	sustained float64       // of these, with deliveries, metrics and logs
	idle      float64       // percent of one CPU
}

func (s *setup) targets() targets {
	if s.database == postgreSQL {
		return targets{200 * time.Microsecond, 10 * time.Millisecond, 8 * time.Millisecond, 0.2, 0.1, 3}
	}
	return targets{150 * time.Microsecond, 5 * time.Millisecond, 4 * time.Millisecond, 0.5, 0.35, 1}
}

// throughput measures how fast a backlog is delivered to receivers that respond at once, and the two baselines.
func throughput(s *setup) []figure {
	var transactions, requests, shares []float64
	var all []drained
	urls := s.receiver.urls[accepts]
	for range s.rounds {
		rate, cpu := s.postRate()
		transactions, requests = append(transactions, s.floorRate()), append(requests, rate)
		d := s.drain(s.backlog, urls, highRate)
		all, shares = append(all, d), append(shares, ratio(d.daemons+d.database, cpu))
	}
	d, transaction, request := medianOf(all), measure.Median(transactions), measure.Median(requests)
	limit, share := s.targets().cpu, measure.Median(shares)
	return []figure{
		{"floor: durable transactions of one row, 16 callers", "", perSecond(transaction), true},
		{"floor: requests to the receiver, 64 connections", "", perSecond(request), true},
		{
			fmt.Sprintf("deliveries to %d origins that respond at once", s.ports), fmt.Sprintf("≥ %s/s, or %.2f × requests", thousands(minDelivered), minOfRequests),
			fmt.Sprintf("%.0f/s (%.2f × transactions, %.2f × requests)", d.rate, d.rate/transaction, d.rate/request),
			d.rate >= minDelivered || d.rate >= minOfRequests*request,
		},
		{
			"CPU time per delivery", fmt.Sprintf("≤ %.2f ms in all processes, or %.1f × a request", limit.Seconds()*1000, maxRequestsOfCPU),
			fmt.Sprintf("%v; %.1f × a request", d, share), d.daemons+d.database <= limit || share <= maxRequestsOfCPU,
		},
		{"memory of all processes after the deliveries", "≤ " + mebibytes(maxMemory), mebibytes(d.memory), d.memory <= maxMemory},
	}
}

// drained is the cost of delivering a backlog, or of creations.
type drained struct {
	rate              float64       // per second
	daemons, database time.Duration // CPU time of each
	memory            int64         // of all processes, at the end
}

func (d drained) String() string {
	if d.database == 0 {
		return fmt.Sprintf("%.2f ms", d.daemons.Seconds()*1000)
	}
	return fmt.Sprintf("%.2f ms (studiod %.2f, database %.2f)", (d.daemons+d.database).Seconds()*1000, d.daemons.Seconds()*1000, d.database.Seconds()*1000)
}

// medianOf returns the round with the median rate.
func medianOf(all []drained) drained {
	slices.SortFunc(all, func(a, b drained) int { return int(a.rate - b.rate) })
	return all[(len(all)-1)/2]
}

// highRate doubles the default rate. With that, a backlog for 128 origins is delivered with at most 6,800 per second:
// 10 to each origin at once, and 50 per second.
const highRate = "--receiver-rate=100"

// drain inserts events, starts a daemon with additional flags, and measures until all events have arrived.
func (s *setup) drain(events int, urls []string, flags ...string) drained {
	s.t.Helper()
	s.receiver.reset()
	s.seed(s.users[0], urls, events, 1)
	s.start(flags...)
	defer s.stop()
	return s.measureDrain(events)
}

// cpu returns the CPU time that the running daemons and the database have used.
func (s *setup) cpu() (daemons, database time.Duration) {
	for _, d := range s.running() {
		daemons += d.CPU()
	}
	return daemons, harness.TreeCPU(s.server)
}

// cost returns the cost of each of the n deliveries or creations that do makes.
func (s *setup) cost(do func() (rate float64, n int)) drained {
	daemonsBefore, databaseBefore := s.cpu()
	rate, n := do()
	daemons, database := s.cpu()
	counted := time.Duration(max(n, 1))
	return drained{rate: rate, daemons: (daemons - daemonsBefore) / counted, database: (database - databaseBefore) / counted}
}

// measureDrain waits until all events are delivered. It measures from the first arrival on, so that the start of the
// daemons does not count.
func (s *setup) measureDrain(events int) drained {
	s.t.Helper()
	first := s.receiver.ask(query{Accepted: 1, MaxWait: maxWait})
	d := s.cost(func() (rate float64, n int) { return s.receiver.await(events, maxWait).rate(), events - first.Accepted })
	d.memory = harness.TreeMemory(s.server)
	for _, daemon := range s.running() {
		d.memory += harness.TreeMemory(daemon.PID())
	}
	s.awaitDelivered()
	s.receiver.await(events, 0)
	return d
}

// postRate measures the baseline of the receiver: requests per second without the service, and the CPU time of each in
// the receiver and its client.
func (s *setup) postRate() (rate float64, cpu time.Duration) {
	s.t.Helper()
	client := measure.NewClient(s.receiver.urls[accepts][0], posters)
	defer client.Close()
	before, began := harness.TreeCPU(os.Getpid()), time.Now()
	rate = measure.PerSecond(s.t, posters, s.floor, func() error {
		_, err := client.SendOK(signedEvent("floor", "floor", "succeeded", 1, s.users[0].secret))
		return err
	})
	used := harness.TreeCPU(os.Getpid()) - before
	return rate, time.Duration(float64(used) / rate / time.Since(began).Seconds())
}

// signedEvent returns a request with an event of a lip-sync.
func signedEvent(id, subject, status string, sequence int, secret webhook.Secret) []byte {
	body := `{"event_type":"lipsync_inference_event","data":{"inference_id":"` + subject + `","status":"` + status + `"}}`
	header := http.Header{webhook.HeaderSequence: {strconv.Itoa(sequence)}}
	if err := webhook.Sign(header, id, time.Now(), []byte(body), secret); err != nil {
		panic(err) // the id is invalid
	}
	var lines strings.Builder
	_ = header.Write(&lines)
	return measure.Request(http.MethodPost, "/", lines.String(), body)
}
