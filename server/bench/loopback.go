package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// traffic is the result of one variant in one round over loopback.
type traffic struct {
	perSecond float64
	cpu       float64 // CPU time of the server, in ns per request
}

// loopback are the results of one variant, one per round.
type loopback struct {
	rounds []traffic
}

func perSecond(t traffic) float64 { return t.perSecond }
func cpu(t traffic) float64       { return t.cpu }

// spread returns the smallest and the largest ratio within a round.
func (m loopback) spread(other loopback) (least, most float64) {
	values := ratios(m.rounds, other.rounds, perSecond)
	return slices.Min(values), slices.Max(values)
}

// measureLoopback measures the variants alternately. Each variant runs in its own process.
func measureLoopback(
	ctx context.Context, children []*child, connections, rounds int, slice time.Duration,
) ([]loopback, error) {
	loads := make([]*load, len(children))
	for i, c := range children {
		l, err := dial(ctx, c.address, connections)
		if err != nil {
			return nil, err
		}
		defer l.close()
		loads[i] = l
		if _, err := l.run(slice / 2); err != nil { // warm up
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	results := make([]loopback, len(children))
	for round := range rounds {
		for offset := range children {
			i := (round + offset) % len(children)
			t, err := measureTraffic(children[i], loads[i], slice)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", children[i].name, err)
			}
			results[i].rounds = append(results[i].rounds, t)
		}
	}
	return results, nil
}

func measureTraffic(c *child, l *load, slice time.Duration) (traffic, error) {
	before, err := c.cpu()
	if err != nil {
		return traffic{}, err
	}
	began := time.Now()
	count, err := l.run(slice)
	elapsed := time.Since(began)
	if err != nil {
		return traffic{}, err
	}
	after, err := c.cpu()
	if err != nil {
		return traffic{}, err
	}
	return traffic{
		perSecond: float64(count) / elapsed.Seconds(),
		cpu:       float64((after - before).Nanoseconds()) / float64(count),
	}, nil
}
