package daemon_test

import (
	"fmt"
	"time"
)

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
