package main

import (
	"context"
	"errors"
	"fmt"
)

// creating measures creations with their renderings and deliveries.
func (s *scene) creating(ctx context.Context, floor float64) ([]figure, error) {
	r, err := s.hold(ctx, s.creations, s.long, s.create)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(s.progress, "  creations for %v, %v\n", s.long, r)
	highest, steps, err := s.searchRate(ctx, s.creations, s.create)
	if err != nil {
		return nil, err
	}
	soon := 0
	for _, delay := range r.delays {
		if delay <= mostDelay {
			soon++
		}
	}
	share := 100 * float64(soon) / float64(max(len(r.delays), 1))
	worst := percentile(r.delays, 100)
	what := fmt.Sprintf("%s creations/s for %v: ", thousands(s.creations), s.long)
	return []figure{
		{"floor: durable transactions of one row, 16 callers", "", fmt.Sprintf("%.0f/s", floor), true},
		{what + "latency", "p99 ≤ 100 ms", latencies(r), percentile(r.latencies, 99) <= mostLatency},
		{what + "errors", "0", fmt.Sprintf("%d of %s", r.errors, thousands(r.requests)), r.errors == 0},
		{what + "events delivered within 1 s", "100 %", fmt.Sprintf("%.2f %%", share), soon == len(r.delays)},
		{what + "delay of events", "at most 1 s", fmt.Sprintf("p50 %s, p99 %s, at most %s", milliseconds(percentile(r.delays, 50)),
			milliseconds(percentile(r.delays, 99)), milliseconds(worst)), worst <= mostDelay},
		{what + "memory after " + settledOf(s.long).String() + " and at the end", "", mebibytes(r.early) + ", " + mebibytes(r.late), true},
		{what + "CPU", "", r.usage.String(), true},
		{
			"highest rate of creations held for " + s.step.String(), "",
			fmt.Sprintf("%s/s (%.2f × the floor); %s", thousands(highest), float64(highest)/floor, ofHighest(steps, highest)), highest >= s.creations,
		},
	}, nil
}

// listingProjects measures project lists.
func (s *scene) listingProjects(ctx context.Context) ([]figure, error) {
	r, err := s.hold(ctx, s.lists, s.listing, s.list(s.pool))
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(s.progress, "  lists for %v, %v\n", s.listing, r)
	highest, steps, err := s.searchRate(ctx, s.lists, s.list(s.pool))
	if err != nil {
		return nil, err
	}
	_, answer, err := s.pool.send(ctx, s.listRequest(0))
	if err != nil {
		return nil, err
	}
	address, stop, err := startBare(ctx, answer)
	if err != nil {
		return nil, err
	}
	bare := newPool(address)
	floor, floorSteps, err := s.searchRate(ctx, s.lists, s.list(bare))
	bare.close()
	if err := errors.Join(err, stop()); err != nil {
		return nil, err
	}
	what := fmt.Sprintf("%s lists/s of %d projects for %v: ", thousands(s.lists), projects, s.listing)
	return []figure{
		{"floor: highest rate held by a bare net/http handler that answers the same list", "", fmt.Sprintf("%s/s; %s", thousands(floor), ofHighest(floorSteps, floor)), true},
		{what + "latency", "p99 ≤ 100 ms", latencies(r), percentile(r.latencies, 99) <= mostLatency},
		{what + "errors", "0", fmt.Sprintf("%d of %s", r.errors, thousands(r.requests)), r.errors == 0},
		{what + "CPU", "", r.usage.String(), true},
		{
			"highest rate of lists held for " + s.step.String(), "",
			fmt.Sprintf("%s/s (%.2f × the bare handler); %s", thousands(highest), float64(highest)/float64(max(floor, 1)), ofHighest(steps, highest)), highest >= s.lists,
		},
	}, nil
}
