package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/avatarstudio/avatarstudio/server/bench/daemon/measure"
)

// measureCreations measures creations, with the renderings and deliveries that follow from them.
func (s *setup) measureCreations(ctx context.Context, floor float64) ([]figure, error) {
	r, err := s.measureRate(ctx, s.creations, s.creationDuration, s.create)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(s.progress, "  creations for %v, %v\n", s.creationDuration, r)
	highest, results, err := s.searchRate(ctx, s.creations, s.create)
	if err != nil {
		return nil, err
	}
	onTime := 0
	for _, delay := range r.delays {
		if delay <= maxDelay {
			onTime++
		}
	}
	share := 100 * float64(onTime) / float64(max(len(r.delays), 1))
	worst := measure.Percentile(r.delays, 100)
	prefix := fmt.Sprintf("%s creations/s for %v: ", measure.Thousands(s.creations), s.creationDuration)
	return []figure{
		{"floor: durable transactions of one row, 16 callers", "", fmt.Sprintf("%.0f/s", floor), true},
		{prefix + "latency", "p99 ≤ 100 ms", latencies(r), measure.Percentile(r.latencies, 99) <= maxLatency},
		{prefix + "errors", "0", fmt.Sprintf("%d of %s", r.errors, measure.Thousands(r.requests)), r.errors == 0},
		{prefix + "events delivered within 1 s", "100 %", fmt.Sprintf("%.2f %%", share), onTime == len(r.delays)},
		{prefix + "delay of events", "max ≤ 1 s", fmt.Sprintf("p50 %s, p99 %s, max %s", measure.Milliseconds(measure.Percentile(r.delays, 50)),
			measure.Milliseconds(measure.Percentile(r.delays, 99)), measure.Milliseconds(worst)), worst <= maxDelay},
		{prefix + "memory after " + warmUpOf(s.creationDuration).String() + " and at the end", "", measure.Mebibytes(r.warmMemory) + ", " + measure.Mebibytes(r.endMemory), true},
		{prefix + "CPU", "", r.usage.String(), true},
		{
			"highest sustained rate of creations, for " + s.searchStep.String(), "",
			fmt.Sprintf("%s/s (%.2f × the floor); %s", measure.Thousands(highest), float64(highest)/floor, latenciesAt(results, highest)), highest >= s.creations,
		},
	}, nil
}

// measureLists measures project lists.
func (s *setup) measureLists(ctx context.Context) ([]figure, error) {
	r, err := s.measureRate(ctx, s.lists, s.listDuration, s.list(s.pool))
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(s.progress, "  lists for %v, %v\n", s.listDuration, r)
	highest, results, err := s.searchRate(ctx, s.lists, s.list(s.pool))
	if err != nil {
		return nil, err
	}
	_, response, err := s.pool.send(ctx, s.listRequest(0))
	if err != nil {
		return nil, err
	}
	child, address, err := startBare(ctx, response)
	if err != nil {
		return nil, err
	}
	s.bare = child.PID()
	bare := newPool(address)
	floor, floorResults, err := s.searchRate(ctx, s.lists, s.list(bare))
	bare.close()
	s.bare = 0
	if err := errors.Join(err, child.Close()); err != nil {
		return nil, err
	}
	prefix := fmt.Sprintf("%s lists/s of %d projects for %v: ", measure.Thousands(s.lists), projectsPerUser, s.listDuration)
	return []figure{
		{"floor: highest sustained rate of a bare net/http handler with the same response", "", fmt.Sprintf("%s/s; %s", measure.Thousands(floor), latenciesAt(floorResults, floor)), true},
		{prefix + "latency", "p99 ≤ 100 ms", latencies(r), measure.Percentile(r.latencies, 99) <= maxLatency},
		{prefix + "errors", "0", fmt.Sprintf("%d of %s", r.errors, measure.Thousands(r.requests)), r.errors == 0},
		{prefix + "CPU", "", r.usage.String(), true},
		{
			"highest sustained rate of lists, for " + s.searchStep.String(), "",
			fmt.Sprintf("%s/s (%.2f × the bare handler); %s", measure.Thousands(highest), float64(highest)/float64(max(floor, 1)), latenciesAt(results, highest)), highest >= s.lists,
		},
	}, nil
}
