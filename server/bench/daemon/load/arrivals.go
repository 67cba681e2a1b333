package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// arrivals returns the arrival times of a Poisson process, which models independent users. The rate is in requests
// per second. The same arguments give the same times.
func arrivals(rate int, d time.Duration) (all []time.Duration) {
	random := rand.New(rand.NewPCG(uint64(rate), uint64(d))) //nolint:gosec // not for security
	mean := float64(time.Second) / float64(rate)
	for at := random.ExpFloat64() * mean; at < float64(d); at += random.ExpFloat64() * mean {
		all = append(all, time.Duration(at))
	}
	return all
}

// openLoop calls do in a goroutine at each arrival time, and returns after all calls have returned. due is the
// intended start. Latencies count from it, so that delays in this program are not hidden (coordinated omission).
func openLoop(ctx context.Context, all []time.Duration, do func(i int, due time.Time)) {
	var calls sync.WaitGroup
	defer calls.Wait()
	began := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for i, at := range all {
		due := began.Add(at)
		if wait := time.Until(due); wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
		}
		calls.Go(func() { do(i, due) })
	}
}
