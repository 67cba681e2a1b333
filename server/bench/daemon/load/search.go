package main

import (
	"context"
	"fmt"
)

// search returns the highest sustained rate within 10 %. It doubles the rate, beginning with first, until a rate is not
// sustained, and continues with a binary search. It ends early at a sustained rate of limit or above.
func search(first, limit int, sustained func(rate int) (bool, error)) (highest int, err error) {
	low, high := 0, 0 // the highest sustained rate, and the lowest that is not sustained
	for rate := first; high == 0 || high-low > max(high/10, 1); {
		ok, err := sustained(rate)
		if err != nil {
			return 0, err
		}
		if ok {
			low = rate
		} else {
			high = rate
		}
		switch {
		case high == 0 && low >= limit:
			return low, nil
		case high == 0:
			rate = 2 * low
		default:
			rate = (low + high) / 2
		}
	}
	return low, nil
}

// searchRate searches the highest sustained rate, and returns the results of all rates.
func (s *setup) searchRate(ctx context.Context, first int, do requestFunc) (highest int, results []*result, err error) {
	highest, err = search(first, s.maxRate, func(rate int) (bool, error) {
		r, err := s.measureRate(ctx, rate, s.searchStep, do)
		if err != nil {
			return false, err
		}
		fmt.Fprintf(s.progress, "  %v\n", r)
		results = append(results, r)
		return r.sustained(), nil
	})
	return highest, results, err
}

// latenciesAt formats the latencies at the highest sustained rate.
func latenciesAt(results []*result, highest int) string {
	for _, r := range results {
		if r.rate == highest && r.sustained() {
			return latencies(r)
		}
	}
	return "none"
}
