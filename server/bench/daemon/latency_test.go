package daemon_test

import (
	"fmt"
	"time"
)

const (
	latencyPorts = 8
	floodPorts   = 12
	hungEvents   = 64
	// besideRate is below the limit of 50 per second for each origin.
	besideRate = 40
	pacedRate  = 50
	fastRate   = 1000 // for events whose latency is not measured
	// maxBeside is the target for the p99 latency of an origin beside others that hang.
	maxBeside = 100 * time.Millisecond
)

// latency measures the latency of events at 50 events per second.
func latency(s *setup) []figure {
	s.start()
	l, limit := medians(s.pace(pacedRate, s.paced)), s.targets().p99
	return []figure{{"latency at 50 events/s", fmt.Sprintf("p99 ≤ %d ms", limit.Milliseconds()), l.String(), l.p99 <= limit}}
}

// hungReceiver measures the latency of a healthy origin while another origin reads events and never responds.
func hungReceiver(s *setup) []figure {
	s.start()
	s.create(fastRate, hungEvents, s.receiver.urls[hangs])
	l := medians(s.pace(besideRate, s.besideHung))
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
			fmt.Sprintf("latency of a healthy origin at %d events/s, with %s new hanging origins, users: %d", besideRate, thousands(len(urls)), users),
			"p99 ≤ 100 ms", l.String(), l.p99 <= maxBeside,
		}}
	}
}

// flooded measures the latency of a healthy origin with and without other origins that send huge responses. These are
// in a process of their own, so that the healthy origin does not share its scheduler.
func flooded(s *setup) []figure {
	urls := startReceiver(s.t, receiverConfig{Secrets: []string{s.users[0].secret.Reveal()}, Ports: ports{floods: floodPorts}}).urls[floods]
	// At the limit of each origin, these events last for a round.
	events := floodPorts * (s.besideHung*pacedRate/besideRate + 100)
	var without, with []summary
	for range s.rounds { // in turn, because the load of the machine changes
		s.start()
		without = append(without, s.paceOnce(besideRate, s.besideHung))
		s.stop()
		s.seed(s.users[0], urls, events, 1)
		s.start()
		with = append(with, s.paceOnce(besideRate, s.besideHung))
		s.stop()
		s.exec(`DELETE FROM deliveries`)
		s.exec(`DELETE FROM breakers`)
	}
	name := fmt.Sprintf("latency of a healthy origin at %d events/s, with %d origins that send gzip bombs, 10 GB or 1 MiB of headers", besideRate, floodPorts)
	return []figure{withAndWithout(name, without, with)}
}

// waitingEvents measures the latency with and without many events that wait for a hanging origin.
func waitingEvents(s *setup) []figure {
	s.start()
	without := s.pace(pacedRate, s.paced)
	s.stop()
	s.seed(s.users[0], s.receiver.urls[hangs], s.waiting, 1)
	s.start()
	with := s.pace(pacedRate, s.paced)
	_, peak := s.d.Memory()
	name := fmt.Sprintf("with %s waiting events", thousands(s.waiting))
	return []figure{
		withAndWithout(name+": latency at 50 events/s", without, with),
		{name + ": memory", "< 200 MiB", mebibytes(peak), peak < 200<<20},
	}
}

func withAndWithout(name string, all, allWith []summary) figure {
	without, with := medians(all), medians(allWith)
	return figure{name, "p99 ≤ 2 × p99 without them", fmt.Sprintf("%v; without them %v", with, without), with.p99 <= 2*without.p99}
}

// pace is paceOnce in all rounds.
func (s *setup) pace(rate, events int) (all []summary) {
	s.t.Helper()
	for range s.rounds {
		all = append(all, s.paceOnce(rate, events))
	}
	return all
}

// paceOnce creates events for the healthy origins at a steady rate. The latency of an event is the time from just
// before studiod writes it to its arrival.
func (s *setup) paceOnce(rate, events int) summary {
	s.t.Helper()
	s.receiver.reset()
	s.create(rate, events, s.receiver.urls[accepts])
	var took latencies
	for latency := range s.latencies(events) {
		took = append(took, latency)
	}
	return took.summary()
}

const (
	hostilePorts  = 64
	deadline      = 15 * time.Second // timeout of an attempt
	maxIdleMemory = 45 << 20
)

// hostileResponses sends one event to each of many receivers that send hostile responses.
func hostileResponses(s *setup) []figure {
	s.warm(hostilePorts) // the memory that as many ordinary events need is not counted
	s.d.ResetPeak()
	before, _ := s.d.Memory()
	s.create(fastRate, hostilePorts, s.receiver.urls[hostile])
	s.await(`SELECT COUNT(*) FROM events WHERE last_number > 0`, 2*hostilePorts)
	_, peak := s.d.Memory()
	longest, growth := time.Duration(s.number(`SELECT MAX(last_duration) FROM events`))*time.Microsecond, peak-before
	name := fmt.Sprintf("%d concurrent hostile responses", hostilePorts)
	return []figure{
		{name + ": longest attempt", "≤ 15.5 s", fmt.Sprintf("%.2f s", longest.Seconds()), longest <= deadline+500*time.Millisecond},
		{name + ": memory", "growth < 64 MiB", mebibytes(growth), growth < 64<<20},
	}
}

// warm starts a daemon and lets it deliver some events.
func (s *setup) warm(events int) {
	s.t.Helper()
	s.start()
	s.create(fastRate, events, s.receiver.urls[accepts])
	s.receiver.await(events, time.Minute)
	s.awaitDelivered()
}

// idle measures the CPU time and memory of an idle daemon.
func idle(s *setup) []figure {
	s.warm(1)
	used := s.d.CPU()
	time.Sleep(s.idle)
	share, limit := 100*(s.d.CPU()-used).Seconds()/s.idle.Seconds(), s.targets().idle
	memory, _ := s.d.Memory()
	return []figure{
		{fmt.Sprintf("idle for %v: CPU usage", s.idle), fmt.Sprintf("< %.0f %% of one CPU", limit), fmt.Sprintf("%.2f %%", share), share < limit},
		{"idle: memory", "≤ " + mebibytes(maxIdleMemory), mebibytes(memory), memory <= maxIdleMemory},
	}
}
