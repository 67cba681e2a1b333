package main

import (
	"fmt"
	"net/http"
	"runtime"
	"time"
)

// cost is the cost of one request in process.
type cost struct {
	ns            float64 // wall time
	cpu           float64 // CPU time in ns, including garbage collection
	bytes, allocs float64
}

// inProcess are the results of one variant, one per round.
type inProcess struct {
	rounds []cost
}

func (m inProcess) ns() float64  { return medianOf(m.rounds, func(c cost) float64 { return c.ns }) }
func (m inProcess) cpu() float64 { return medianOf(m.rounds, func(c cost) float64 { return c.cpu }) }

func (m inProcess) bytes() float64 {
	return medianOf(m.rounds, func(c cost) float64 { return c.bytes })
}

func (m inProcess) allocs() float64 {
	return medianOf(m.rounds, func(c cost) float64 { return c.allocs })
}

// cpuRatio returns the median ratio of CPU times. Other programs on the machine affect CPU time less than wall time.
func (m inProcess) cpuRatio(other inProcess) float64 {
	return medianOfRatios(m.rounds, other.rounds, func(c cost) float64 { return c.cpu })
}

// measureInProcess measures the variants alternately. Each variant serves the request in its own process.
func measureInProcess(children []*child, body string, rounds int, slice time.Duration) ([]inProcess, error) {
	results := make([]inProcess, len(children))
	for round := range rounds {
		for offset := range children {
			i := (round + offset) % len(children)
			took, err := children[i].serve(body, slice)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", children[i].name, err)
			}
			results[i].rounds = append(results[i].rounds, took)
		}
	}
	return results, nil
}

// bench serves requests without a network.
type bench struct {
	call    *call
	handler http.Handler
	slice   time.Duration
	size    int // number of requests per slice
}

func newBench(handler http.Handler, body string) (*bench, error) {
	c, err := newCall(http.MethodPost, createLipsync, goodHeader, body)
	return &bench{call: c, handler: handler}, err
}

func (b *bench) run(slice time.Duration) (cost, error) {
	if b.slice != slice {
		b.slice, b.size = slice, calibrate(b.call, b.handler, slice)
	}
	took, err := serveMany(b.call, b.handler, b.size)
	if err == nil {
		err = b.call.verify()
	}
	return took, err
}

// calibrate warms up the handler and returns the number of requests that it serves in a slice.
func calibrate(c *call, handler http.Handler, slice time.Duration) int {
	began, n := time.Now(), 0
	for ; time.Since(began) < slice; n++ {
		c.serve(handler)
	}
	return n
}

// serveMany serves n requests and returns the mean cost of one.
func serveMany(c *call, handler http.Handler, n int) (cost, error) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	used, err := cpuTime()
	if err != nil {
		return cost{}, err
	}
	began := time.Now()
	for range n {
		c.serve(handler)
	}
	elapsed := time.Since(began)
	usedAfter, err := cpuTime()
	if err != nil {
		return cost{}, err
	}
	runtime.ReadMemStats(&after)
	return cost{
		ns:     float64(elapsed.Nanoseconds()) / float64(n),
		cpu:    float64((usedAfter - used).Nanoseconds()) / float64(n),
		bytes:  float64(after.TotalAlloc-before.TotalAlloc) / float64(n),
		allocs: float64(after.Mallocs-before.Mallocs) / float64(n),
	}, nil
}

// startUps calls server.New n times in this process, and returns the duration of each call.
func startUps(n int) ([]time.Duration, error) {
	var took []time.Duration
	for range n {
		began := time.Now()
		if _, err := buildServer(); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}
