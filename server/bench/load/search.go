package main

import (
	"context"
	"fmt"
)

// search returns the highest rate that try holds: it doubles the rate until it does not, and then looks
// halfway until it knows the rate to a tenth.
func search(first, most int, try func(rate int) (held bool, err error)) (highest int, err error) {
	low, high := 0, 0 // what is held, and what is not
	for rate := first; high == 0 || high-low > max(high/10, 1); {
		held, err := try(rate)
		if err != nil {
			return 0, err
		}
		if held {
			low = rate
		} else {
			high = rate
		}
		switch {
		case high == 0 && low >= most:
			return low, nil
		case high == 0:
			rate = 2 * low
		default:
			rate = (low + high) / 2
		}
	}
	return low, nil
}

// searchRate searches the highest rate that is held, and returns all that was tried.
func (s *scene) searchRate(ctx context.Context, first int, do attempt) (highest int, steps []*step, err error) {
	highest, err = search(first, s.most, func(rate int) (bool, error) {
		r, err := s.hold(ctx, rate, s.step, do)
		if err != nil {
			return false, err
		}
		fmt.Fprintf(s.progress, "  %v\n", r)
		steps = append(steps, r)
		return r.held(), nil
	})
	return highest, steps, err
}

// ofHighest tells of the rate that was held.
func ofHighest(steps []*step, highest int) string {
	for _, r := range steps {
		if r.rate == highest && r.held() {
			return latencies(r)
		}
	}
	return "none"
}
