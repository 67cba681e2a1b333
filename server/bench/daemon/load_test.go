package daemon_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"
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
}

func (r *result) sustained() bool {
	return r.errors == 0 && r.latencies.percentile(99) <= maxLatency && r.delays.percentile(100) <= maxDelay
}

func (r *result) String() string {
	return fmt.Sprintf("%d/s: %v; delay of events: %v; %d errors, first: %v", r.rate, r.latencies, r.delays, r.errors, r.firstError)
}

// measureLoad measures a rate of creations. It repeats the measurement if the rate is not sustained, because other
// programs may use the machine.
func (s *setup) measureLoad(rate int, d time.Duration) (r *result) {
	s.t.Helper()
	for range maxTries {
		r = s.runLoad(rate, d)
		if s.t.Logf("%v for %v", r, d); r.sustained() {
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
	openLoop(all, func(i int, due time.Time) {
		id, err := s.createLipsync(s.users[i%len(s.users)], s.receiver.urls[accepts][i%len(s.users)])
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

// searchLoad returns the highest sustained rate within 20 %, and its latencies.
func (s *setup) searchLoad() (highest int, latencies string) {
	s.t.Helper()
	latencies = "none"
	for rate := s.creations; rate <= s.maxRate; rate += rate / 5 {
		r := s.measureLoad(rate, s.searchStep)
		if !r.sustained() {
			break
		}
		highest, latencies = rate, r.latencies.String()
	}
	return highest, latencies
}

const (
	maxLatency   = 100 * time.Millisecond // p99 of a sustained rate
	maxDelay     = time.Second            // of every event at a sustained rate
	drainTimeout = 5 * time.Minute        // for events after the last request
	maxTries     = 2                      // of a rate
	minSustained = 2000                   // creations per second, on a machine with quick transactions
)

// creationLoad measures creations, with the renderings and deliveries that follow from them. The daemon has metrics,
// logs and encryption.
func creationLoad(s *setup) []figure {
	floor := s.floorRate()
	s.program = append([]string{"env", "STUDIO_KEYS=MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}, s.program...)
	s.start("--admin-addr", "127.0.0.1:0", "--media", "file:"+filepath.Join(s.t.TempDir(), "media"))
	for _, u := range s.users {
		s.login(u)
	}
	r := s.measureLoad(s.creations, s.creationDuration)
	highest, found := s.searchLoad()
	least, prefix := s.targets().sustained, fmt.Sprintf("%s creations/s for %v: ", thousands(s.creations), s.creationDuration)
	return []figure{
		{"floor: durable transactions of one row, 16 callers", "", perSecond(floor), true},
		{prefix + "latency", "p99 ≤ 100 ms", r.latencies.String(), r.latencies.percentile(99) <= maxLatency},
		{prefix + "errors", "0", fmt.Sprintf("%d of %s", r.errors, thousands(len(r.latencies))), r.errors == 0},
		{prefix + "delay of events", "max ≤ 1 s", r.delays.String(), r.delays.percentile(100) <= maxDelay},
		{
			"highest sustained rate of creations, for " + s.searchStep.String(), fmt.Sprintf("≥ %s/s, or %v × the floor", thousands(minSustained), least),
			fmt.Sprintf("%s/s (%.2f × the floor); %s", thousands(highest), float64(highest)/floor, found),
			highest >= minSustained || float64(highest) >= least*floor,
		},
	}
}
