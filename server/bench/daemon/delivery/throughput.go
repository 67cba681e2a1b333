package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/avatarstudio/avatarstudio/api/harness"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/server/bench/daemon/measure"
)

const posters = 64 // concurrent requests of the baseline

// targets are the targets that depend on the database.
type targets struct {
	throughput int           // deliveries per second
	cpu        time.Duration // CPU time of all processes per delivery
	p99        time.Duration // from commit to arrival
}

func (db *database) targets() targets {
	if db.Name == measure.PostgreSQL {
		return targets{2500, 800 * time.Microsecond, 10 * time.Millisecond}
	}
	return targets{4000, 400 * time.Microsecond, 5 * time.Millisecond}
}

// maxMemory is the target for the memory of all processes after the delivery of a backlog, in bytes.
const maxMemory = 446 << 20

// throughput measures how fast a backlog is delivered to receivers that respond at once, and the two
// baselines.
func throughput(ctx context.Context, s *setup) ([]figure, error) {
	var singles, transactions, requests []float64
	var all []drained
	for round := range s.rounds {
		n, err := s.db.Floor(ctx, s.floor)
		if err != nil {
			return nil, err
		}
		transactions = append(transactions, n)
		if n, err = s.postFloor(ctx); err != nil {
			return nil, err
		}
		requests = append(requests, n)
		d, err := s.drain(ctx, batch{name: fmt.Sprintf("many%d", round), subjects: s.backlog}, s.ports)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
		if d, err = s.drain(ctx, batch{name: fmt.Sprintf("one%d", round), subjects: s.single}, 1); err != nil {
			return nil, err
		}
		singles = append(singles, d.rate)
	}
	d, target, transaction, request := medianOf(all), s.db.targets(), median(transactions), median(requests)
	return []figure{
		{"floor: durable transactions of one row, 16 callers", "", fmt.Sprintf("%.0f/s", transaction), true},
		{"floor: requests to the receiver, 64 connections", "", fmt.Sprintf("%.0f/s", request), true},
		{
			fmt.Sprintf("deliveries to %d origins that respond at once", s.ports), fmt.Sprintf("≥ %s/s", measure.Thousands(target.throughput)),
			fmt.Sprintf("%.0f/s (%.2f × transactions, %.2f × requests)", d.rate, d.rate/transaction, d.rate/request),
			d.rate >= float64(target.throughput),
		},
		{
			"CPU time per delivery", fmt.Sprintf("≤ %s in all processes", measure.Milliseconds(target.cpu)), d.String(),
			d.daemons+d.database <= target.cpu,
		},
		{"memory of all processes after the deliveries", "≤ " + measure.Mebibytes(maxMemory), measure.Mebibytes(d.memory), d.memory <= maxMemory},
		{"deliveries to one origin, which is limited to 50/s", "", fmt.Sprintf("%.0f/s", median(singles)), true},
	}, nil
}

// drained is the cost of delivering a backlog.
type drained struct {
	rate              float64       // deliveries per second
	daemons, database time.Duration // CPU time per delivery
	memory            int64         // of all processes, at the end
}

func (d drained) String() string {
	if d.database == 0 {
		return fmt.Sprintf("%.2f ms", d.daemons.Seconds()*1000)
	}
	return fmt.Sprintf("%.2f ms (studiod %.2f, database %.2f)", (d.daemons+d.database).Seconds()*1000, d.daemons.Seconds()*1000, d.database.Seconds()*1000)
}

func medianOf(all []drained) drained {
	of := func(value func(d drained) float64) float64 {
		var values []float64
		for _, d := range all {
			values = append(values, value(d))
		}
		return median(values)
	}
	return drained{
		rate:     of(func(d drained) float64 { return d.rate }),
		daemons:  time.Duration(of(func(d drained) float64 { return float64(d.daemons) })),
		database: time.Duration(of(func(d drained) float64 { return float64(d.database) })),
		memory:   int64(of(func(d drained) float64 { return float64(d.memory) })),
	}
}

// drain inserts a batch, starts a daemon, and measures until all events have arrived.
func (s *setup) drain(ctx context.Context, b batch, origins int) (d drained, err error) {
	if _, err := s.receiver.reset(); err != nil {
		return d, err
	}
	b.urls, b.events = s.receiver.urls[accepts][:origins], 1
	if err := s.db.seed(ctx, b); err != nil {
		return d, err
	}
	if err := s.start(ctx); err != nil {
		return d, err
	}
	if d, err = s.measureDrain(ctx, b.subjects); err != nil {
		return d, err
	}
	return d, s.d.Stop()
}

// measureDrain waits until all events are delivered. It measures from the first arrival on, so that the
// start of the daemons does not count.
func (s *setup) measureDrain(ctx context.Context, events int) (d drained, err error) {
	server := s.db.Postmaster
	first, err := s.receiver.query(query{Accepted: 1, MaxWait: maxWait})
	if err != nil {
		return d, err
	}
	daemonsBefore, databaseBefore := s.cpu(), harness.TreeCPU(server)
	t, err := s.receiver.waitAll(events, maxWait, false)
	if err != nil {
		return d, err
	}
	counted := time.Duration(max(events-first.Accepted, 1))
	d = drained{
		rate: t.rate(), daemons: (s.cpu() - daemonsBefore) / counted, database: (harness.TreeCPU(server) - databaseBefore) / counted,
		memory: harness.TreeMemory(server),
	}
	for _, daemon := range s.daemons {
		if daemon.Running() {
			d.memory += harness.TreeMemory(daemon.PID())
		}
	}
	if err := s.db.delivered(ctx); err != nil {
		return d, err
	}
	_, err = s.receiver.waitAll(events, 0, false)
	return d, err
}

// postFloor measures the baseline of the receiver: requests per second from a plain loop.
func (s *setup) postFloor(ctx context.Context) (float64, error) {
	secret, err := webhook.ParseSecret(s.db.secret)
	if err != nil {
		return 0, err
	}
	transport := &http.Transport{MaxIdleConnsPerHost: posters}
	defer transport.CloseIdleConnections()
	return measure.PerSecond(posters, s.floor, func() error {
		status, err := post(ctx, transport, s.receiver.urls[accepts][0], "floor", 1, secret)
		if err == nil && status != http.StatusNoContent {
			err = fmt.Errorf("receiver: status %d", status)
		}
		return err
	})
}

// post sends an event of the subject "floor" without the service.
func post(ctx context.Context, to http.RoundTripper, url, id string, sequence int, secret webhook.Secret) (status int, err error) {
	body := []byte(`{"event_type":"lipsync_inference_event","data":{"inference_id":"floor","status":"succeeded"}}`)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	if err := webhook.Sign(request.Header, id, time.Now(), body, secret); err != nil {
		return 0, err
	}
	request.Header.Set(webhook.HeaderSequence, strconv.Itoa(sequence))
	response, err := to.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}
