package daemon_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// arrivals returns the arrival times of a Poisson process, which models independent users. The rate is in requests
// per second. The same arguments give the same times.
func arrivals(rate int, d time.Duration) (all []time.Duration) {
	random := rand.New(rand.NewPCG(uint64(rate), uint64(d)))
	mean := float64(time.Second) / float64(rate)
	for at := random.ExpFloat64() * mean; at < float64(d); at += random.ExpFloat64() * mean {
		all = append(all, time.Duration(at))
	}
	return all
}

// openLoop calls do in a goroutine at each arrival time, and returns after all calls have returned. due is the
// intended start. Latencies count from it, so that delays in this program are not hidden (coordinated omission).
func openLoop(all []time.Duration, do func(i int, due time.Time)) {
	var calls sync.WaitGroup
	defer calls.Wait()
	began := time.Now()
	for i, at := range all {
		due := began.Add(at)
		time.Sleep(time.Until(due))
		calls.Go(func() { do(i, due) })
	}
}

// result is the result of one rate.
type result struct {
	rate       int       // requests per second
	latencies  latencies // of requests
	delays     latencies // of events
	errors     int
	firstError error
	usage      usage
	warmMemory int64 // bytes after the warm-up
	endMemory  int64 // bytes at the end
}

func (r *result) sustained() bool {
	return r.errors == 0 && r.latencies.percentile(99) <= maxLatency && r.delays.percentile(100) <= maxDelay
}

func (r *result) String() string {
	return fmt.Sprintf("%d/s: %v; delay of events: %v; %d errors, first: %v; CPU: %v", r.rate, r.latencies, r.delays, r.errors, r.firstError, r.usage)
}

// measureLoad measures a rate of creations. It repeats the measurement if the rate is not sustained while other programs use the
// machine.
func (s *setup) measureLoad(rate int, d time.Duration) (r *result) {
	s.t.Helper()
	for range maxTries {
		waitIdle(s.idleWait)
		r = s.runLoad(rate, d)
		s.t.Logf("%v for %v", r, d)
		if r.sustained() || r.usage.others < time.Duration(float64(r.usage.took)*maxOthersCPU) {
			break
		}
	}
	return r
}

// runLoad creates lip-syncs at a rate for d, and waits for their events.
func (s *setup) runLoad(rate int, d time.Duration) *result {
	s.t.Helper()
	s.receiver.reset()
	all := arrivals(rate, d)
	r := &result{rate: rate, latencies: make(latencies, len(all))}
	var mu sync.Mutex
	created := make(map[string]time.Time)
	warmMemory := make(chan int64, 1)
	time.AfterFunc(warmUpOf(d), func() { warmMemory <- s.memory() })
	used := s.startUsage()
	openLoop(all, func(i int, due time.Time) {
		id, err := s.createInTurn(i)
		r.latencies[i] = time.Since(due)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			if r.errors++; r.errors == 1 {
				r.firstError = err
			}
		} else {
			created[id] = due
		}
	})
	r.usage, r.warmMemory, r.endMemory = used(), <-warmMemory, s.memory()
	t := s.receiver.ask(query{Accepted: len(created), MaxWait: drainTimeout, Arrivals: true})
	if t.Wrong > 0 || t.Inversions > 0 || t.Duplicates > 0 || r.errors == 0 && t.Accepted != len(created) {
		s.t.Fatalf("the receiver got %d events of %d, %d of them twice, %d wrong", t.Accepted, len(created), t.Duplicates, t.Wrong)
	}
	for id, due := range created {
		at, ok := t.Arrivals[id]
		if !ok {
			s.t.Fatalf("the event of %s is lost", id)
		}
		r.delays = append(r.delays, at.Sub(due))
	}
	return r
}

// searchLoad returns the highest sustained rate, and its latencies.
func (s *setup) searchLoad() (highest int, latencies string) {
	s.t.Helper()
	latencies = "none"
	return search(s.creations, s.maxRate, func(rate int) bool {
		r := s.measureLoad(rate, s.searchStep)
		if r.sustained() {
			latencies = r.latencies.String()
		}
		return r.sustained()
	}), latencies
}

// search returns the highest sustained rate within 10 %. It doubles the rate, beginning with first, until a rate is not
// sustained, and continues with a binary search. It ends early at a sustained rate of limit or above.
func search(first, limit int, sustained func(rate int) bool) int {
	low, high := 0, 0 // the highest sustained rate, and the lowest that is not sustained
	for rate := first; high == 0 || high-low > max(high/10, 1); {
		if sustained(rate) {
			low = rate
		} else {
			high = rate
		}
		switch {
		case high == 0 && low >= limit:
			return low
		case high == 0:
			rate = 2 * low
		default:
			rate = (low + high) / 2
		}
	}
	return low
}

// warmUpOf returns the duration of the warm-up in a measurement of duration d.
func warmUpOf(d time.Duration) time.Duration { return min(warmUp, d/2) }

// memory returns the memory of studiod and the database server, in bytes.
func (s *setup) memory() int64 { return harness.TreeMemory(s.d.PID()) + harness.TreeMemory(s.server) }

// machineCPU returns the CPU time of all processes on this machine, and the steal time: the time that its hypervisor
// gave to others.
func machineCPU() (used, stolen time.Duration) {
	stat, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(stat), "\n")
	for i, field := range strings.Fields(line) { // cpu user nice system idle iowait irq softirq steal
		n, _ := strconv.Atoi(field)
		switch i {
		case 1, 2, 3, 6, 7:
			used += time.Duration(n) * harness.Tick
		case 8:
			stolen = time.Duration(n) * harness.Tick
		}
	}
	return used, stolen
}

// waitIdle waits until other programs use less than maxOthersCPU, but not longer than maxWait.
func waitIdle(maxWait time.Duration) {
	const period = time.Second
	for before, _ := machineCPU(); maxWait > 0; maxWait -= period {
		time.Sleep(period)
		used, _ := machineCPU()
		if (used - before).Seconds() < maxOthersCPU {
			return
		}
		before = used
	}
}

// usage is the CPU time that was used during a measurement.
type usage struct {
	took                                    time.Duration
	studiod, database, load, others, stolen time.Duration
}

// startUsage returns a function that returns the CPU time since the call of startUsage.
func (s *setup) startUsage() func() usage {
	now := func() (u usage) {
		used, stolen := machineCPU()
		u = usage{studiod: s.d.CPU(), database: harness.TreeCPU(s.server), load: harness.SelfCPU() + harness.TreeCPU(s.receiver.PID()), stolen: stolen}
		u.others = used - u.studiod - u.database - u.load
		return u
	}
	began, before := time.Now(), now()
	return func() usage {
		after := now()
		return usage{
			time.Since(began), after.studiod - before.studiod, after.database - before.database, after.load - before.load,
			after.others - before.others, after.stolen - before.stolen,
		}
	}
}

func (u usage) String() string {
	var parts []string
	for _, part := range []struct {
		name string
		used time.Duration
	}{{"studiod", u.studiod}, {"database", u.database}, {"load", u.load}, {"others", u.others}, {"stolen", u.stolen}} {
		if part.name != "database" || part.used > 0 {
			parts = append(parts, fmt.Sprintf("%s %.0f %%", part.name, 100*part.used.Seconds()/u.took.Seconds()))
		}
	}
	return strings.Join(parts, ", ")
}
