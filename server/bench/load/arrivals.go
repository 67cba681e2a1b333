package main

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// arrivals returns when requests come, as many users send them who know nothing of each other: so many
// a second on average, and any number at once (a Poisson process). They are the same in every run.
func arrivals(rate int, d time.Duration) (all []time.Duration) {
	random := rand.New(rand.NewPCG(uint64(rate), uint64(d))) //nolint:gosec // any seed will do
	mean := float64(time.Second) / float64(rate)
	for at := random.ExpFloat64() * mean; at < float64(d); at += random.ExpFloat64() * mean {
		all = append(all, time.Duration(at))
	}
	return all
}

// openLoop starts do for each arrival at its time, and returns when all have ended. due is when do should
// have been started, from which all that happens later counts.
func openLoop(ctx context.Context, all []time.Duration, do func(i int, due time.Time)) {
	var working sync.WaitGroup
	defer working.Wait()
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
		working.Go(func() { do(i, due) })
	}
}

// percentile returns the smallest value that so many of a hundred do not exceed.
func percentile(values []time.Duration, percent float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	values = slices.Sorted(slices.Values(values))
	return values[int(math.Ceil(float64(len(values))*percent/100))-1]
}
