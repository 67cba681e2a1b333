package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/bench/measure"
)

const (
	latencyPorts = 8
	floodPorts   = 12
	hungEvents   = 64
	// besideRate is below the limit of 50 per second for each origin.
	besideRate = 40
	pacedRate  = 50
	fastRate   = 1000 // for events whose latency is not measured
	// maxFloodRatio is the target for the p99 latency of an origin beside floods. The floods alone, which a bare client
	// reads, may more than double it.
	maxFloodRatio = 1.5
	// maxBeside is the target for the p99 latency of an origin beside others that hang.
	maxBeside = 100 * time.Millisecond
)

// latency measures the latency of events at 50 events per second.
func latency(s *setup) []figure {
	s.start()
	l, limit := s.pace(pacedRate, s.paced), s.targets().p99
	return []figure{{"latency at 50 events/s", fmt.Sprintf("p99 ≤ %d ms", limit.Milliseconds()), l.String(), l.p99 <= limit}}
}

// hungReceiver measures the latency of a healthy origin while another origin reads events and never responds.
func hungReceiver(s *setup) []figure {
	s.start()
	s.create(fastRate, hungEvents, s.receiver.urls[hangs])
	l := s.pace(besideRate, s.besideHung)
	return []figure{{
		fmt.Sprintf("latency of a healthy origin at %d events/s, with %d events to a hanging origin", besideRate, hungEvents), "p99 ≤ 100 ms",
		l.String(), l.p99 <= maxBeside,
	}}
}

// newOrigins measures the latency of a healthy origin while many new origins receive their first event and never
// respond.
func newOrigins(users int) func(s *setup) []figure {
	return func(s *setup) []figure {
		urls := s.receiver.urls[hangs]
		for i, u := range s.addUsers("other", users) {
			share := urls[i*len(urls)/users : (i+1)*len(urls)/users]
			s.seed(u, share, 4*len(share), 1)
		}
		s.start()
		l := s.paceOnce(besideRate, s.besideNew)
		return []figure{{
			fmt.Sprintf("latency of a healthy origin at %d events/s, with %s new hanging origins of %s", besideRate, thousands(len(urls)), plural(users, "user")),
			"p99 ≤ 100 ms", l.String(), l.p99 <= maxBeside,
		}}
	}
}

// flooded measures the latency of a healthy origin with and without other origins that send huge responses. These are
// in a process of their own, so that the healthy origin does not share its scheduler. They share the CPUs, so the floor
// is the latency while a bare client instead of studiod reads the bodies.
func flooded(s *setup) []figure {
	urls := startReceiver(s.t, receiverConfig{Secrets: []string{s.users[0].secret.Reveal()}, Ports: ports{floods: floodPorts}}).urls[floods]
	// At the limit of each origin, these events last for a round.
	events := floodPorts * (s.besideHung*pacedRate/besideRate + 100)
	var without, floors, with []summary
	for range s.rounds { // in turn, because the load of the machine changes
		s.start()
		without = append(without, s.paceOnce(besideRate, s.besideHung))
		stop := s.readFloods(urls)
		floors = append(floors, s.paceOnce(besideRate, s.besideHung))
		stop()
		s.stop()
		s.seed(s.users[0], urls, events, 1)
		s.start()
		with = append(with, s.paceOnce(besideRate, s.besideHung))
		s.stop()
		s.exec(`DELETE FROM deliveries`)
		s.exec(`DELETE FROM breakers`)
	}
	name := fmt.Sprintf("latency of a healthy origin at %d events/s, with %d origins that send gzip bombs, 10 GB or 1 MiB of headers", besideRate, floodPorts)
	alone, beside, floor := medians(without), medians(with), medians(floors)
	return []figure{
		{"floor: the same latency while a bare client reads 4 KiB of each huge body", "", floor.String(), true},
		{
			name, fmt.Sprintf("p99 ≤ 2 × p99 without them, or %.1f × the floor", maxFloodRatio),
			fmt.Sprintf("%v (%.2f × the floor); without them %v", beside, ratio(beside.p99, floor.p99), alone),
			beside.p99 <= 2*alone.p99 || ratio(beside.p99, floor.p99) <= maxFloodRatio,
		},
	}
}

// readFloods requests each URL that sends a huge body 50 times per second, and reads 4 KiB of each response, until stop
// is called.
func (s *setup) readFloods(urls []string) (stop func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	var reading sync.WaitGroup
	for i, address := range urls {
		if i%3 == 2 {
			continue // floods of headers are failures, after which studiod pauses
		}
		u, err := url.Parse(address)
		check(s.t, err)
		request := measure.Request(http.MethodPost, "/", "", "{}")
		reading.Go(func() {
			ticker := time.NewTicker(time.Second / pacedRate)
			defer ticker.Stop()
			for ctx.Err() == nil {
				conn, err := new(net.Dialer).DialContext(ctx, "tcp", u.Host)
				if err == nil {
					_, err = conn.Write(request)
					_, read := io.CopyN(io.Discard, conn, 4<<10)
					err = errors.Join(err, read, conn.Close())
				}
				if err != nil && ctx.Err() == nil {
					s.t.Errorf("read a flood: %v", err)
				}
				select {
				case <-ticker.C:
				case <-ctx.Done():
				}
			}
		})
	}
	return func() { cancel(); reading.Wait() }
}

// waitingEvents measures the latency with and without many events that wait for a hanging origin.
func waitingEvents(s *setup) []figure {
	without, with := s.paceBeside(pacedRate, s.paced, s.receiver.urls[hangs], s.waiting)
	_, peak := s.d.Memory()
	name := fmt.Sprintf("with %s waiting events", thousands(s.waiting))
	return []figure{
		withAndWithout(name+": latency at 50 events/s", without, with),
		{name + ": memory", "< 200 MiB", mebibytes(peak), peak < 200<<20},
	}
}

func withAndWithout(name string, without, with summary) figure {
	return figure{name, "p99 ≤ 2 × p99 without them", fmt.Sprintf("%v; without them %v", with, without), with.p99 <= 2*without.p99}
}

// paceBeside is like pace, without and then with events that another origin gets.
func (s *setup) paceBeside(rate, n int, urls []string, events int) (without, with summary) {
	s.t.Helper()
	s.start()
	without = s.pace(rate, n)
	s.stop()
	s.seed(s.users[0], urls, events, 1)
	s.start()
	return without, s.pace(rate, n)
}

// pace is paceOnce in all rounds. It returns the medians.
func (s *setup) pace(rate, events int) summary {
	s.t.Helper()
	all := make([]summary, s.rounds)
	for i := range all {
		all[i] = s.paceOnce(rate, events)
	}
	return medians(all)
}

// paceOnce creates events for the healthy origins at a steady rate. The latency of an event is the time from just
// before studiod writes it to its arrival.
func (s *setup) paceOnce(rate, events int) summary {
	s.t.Helper()
	s.receiver.reset()
	s.create(rate, events, s.receiver.urls[accepts])
	t, written := s.receiver.await(events, maxWait), s.written()
	var took latencies
	for subject, at := range t.Arrivals {
		took = append(took, at.Sub(written[subject].at))
	}
	return took.summary()
}
