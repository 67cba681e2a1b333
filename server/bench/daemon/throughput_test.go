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

// throughput measures how fast a backlog is delivered to receivers that respond at once, and how fast lip-syncs are
// created, each with a token, a webhook and an idempotency key: once without renderings, and once until the last event
// is delivered.
//
// A rendering writes more rows than a creation, but has no request. So the floor of both with a delivery is the time of
// two creations and a delivery, each measured alone.
func throughput(s *setup) []figure {
	var transactions, requests, shares, sharesTogether []float64
	var delivered, created, together []drained
	for range s.rounds {
		rate, cpu := s.postRate()
		transactions, requests = append(transactions, s.floorRate()), append(requests, rate)
		deliveries := s.drain()
		shares = append(shares, ratio(deliveries.daemon+deliveries.database, cpu))
		s.start("--renderer=simulate:10m")
		s.login(s.users[0])
		_, creations := s.createConcurrently()
		check(s.t, s.d.Kill())
		s.exec(`DELETE FROM renderings`)
		events := s.createAndDeliver()
		delivered, created, together = append(delivered, deliveries), append(created, creations), append(together, events)
		sharesTogether = append(sharesTogether, events.rate*(2/creations.rate+1/deliveries.rate))
	}
	d, creations, events := medianOf(delivered), medianOf(created), medianOf(together)
	transaction, request, share := measure.Median(transactions), measure.Median(requests), measure.Median(shares)
	shareTogether, target := measure.Median(sharesTogether), s.targets()
	return []figure{
		{"floor: durable transactions of one row, 16 callers", "", perSecond(transaction), true},
		{"floor: requests to the receiver, 64 connections", "", perSecond(request), true},
		{
			fmt.Sprintf("deliveries to %d origins that respond at once", s.ports), fmt.Sprintf("≥ %s/s, or %.2f × requests", thousands(minDelivered), minOfRequests),
			fmt.Sprintf("%.0f/s (%.2f × transactions, %.2f × requests)", d.rate, d.rate/transaction, d.rate/request),
			d.rate >= minDelivered || d.rate >= minOfRequests*request,
		},
		{
			"CPU time per delivery", fmt.Sprintf("≤ %.2f ms in all processes, or %.1f × a request", target.cpu.Seconds()*1000, maxRequestsOfCPU),
			fmt.Sprintf("%v; %.1f × a request", d, share), d.daemon+d.database <= target.cpu || share <= maxRequestsOfCPU,
		},
		{"memory of all processes after the deliveries", "≤ " + mebibytes(maxMemory), mebibytes(d.memory), d.memory <= maxMemory},
		{
			"creations over HTTP, 16 callers", fmt.Sprintf("≥ %.1f × the floor, ≤ %.2f ms of CPU time in the database", target.creations, maxCreationCPU.Seconds()*1000),
			fmt.Sprintf("%.0f/s (%.2f × the floor); CPU time of each %v", creations.rate, creations.rate/transaction, creations),
			creations.rate >= target.creations*transaction && creations.database <= maxCreationCPU,
		},
		{
			"creations, renderings and deliveries together", fmt.Sprintf("≥ %s events/s, or %.1f × two creations and a delivery", thousands(minEvents), minTogether),
			fmt.Sprintf("%s (%.2f × two creations and a delivery); CPU time of each %v", perSecond(events.rate), shareTogether, events),
			events.rate >= minEvents || shareTogether >= minTogether,
		},
	}
}

// drained is the cost of delivering a backlog, or of creations.
type drained struct {
	rate             float64       // per second
	daemon, database time.Duration // CPU time of each
	memory           int64         // of all processes, at the end
}

func (d drained) String() string {
	if d.database == 0 {
		return fmt.Sprintf("%.2f ms", d.daemon.Seconds()*1000)
	}
	return fmt.Sprintf("%.2f ms (studiod %.2f, database %.2f)", (d.daemon+d.database).Seconds()*1000, d.daemon.Seconds()*1000, d.database.Seconds()*1000)
}

// medianOf returns the round with the median rate.
func medianOf(all []drained) drained {
	slices.SortFunc(all, func(a, b drained) int { return int(a.rate - b.rate) })
	return all[(len(all)-1)/2]
}

// highRate doubles the default rate. With that, a backlog for 128 origins is delivered with at most 6,800 per second:
// 10 to each origin at once, and 50 per second.
const highRate = "--receiver-rate=100"

// drain inserts the backlog, starts a daemon, and measures from the first arrival, so that the start does not count,
// until all events have arrived.
func (s *setup) drain() drained {
	s.t.Helper()
	s.receiver.reset()
	s.seed(s.users[0], s.receiver.urls[accepts], s.backlog, 1)
	s.start(highRate)
	defer s.stop()
	first := s.receiver.ask(query{Accepted: 1, MaxWait: maxWait})
	d := s.cost(func() (rate float64, n int) {
		return s.receiver.await(s.backlog, maxWait).rate(), s.backlog - first.Accepted
	})
	d.memory = harness.TreeMemory(s.server) + harness.TreeMemory(s.d.PID())
	s.awaitDelivered()
	s.receiver.await(s.backlog, 0)
	return d
}

// cpu returns the CPU time that the daemon and the database have used.
func (s *setup) cpu() (daemon, database time.Duration) { return s.d.CPU(), harness.TreeCPU(s.server) }

// cost returns the cost of each of the n deliveries or creations that do makes.
func (s *setup) cost(do func() (rate float64, n int)) drained {
	daemonBefore, databaseBefore := s.cpu()
	rate, n := do()
	daemon, database := s.cpu()
	counted := time.Duration(max(n, 1))
	return drained{rate: rate, daemon: (daemon - daemonBefore) / counted, database: (database - databaseBefore) / counted}
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
