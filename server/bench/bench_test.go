package bench_test

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/bench/measure"
)

func TestMain(m *testing.M) {
	harness.RunChild(runChild)
	os.Exit(m.Run())
}

// plan is the extent of the measurements.
type plan struct {
	rounds, loopbackRounds int
	slice, loopbackSlice   time.Duration
	connections            int
}

// results are the measurements of one run.
type results struct {
	plan
	variants               []variant
	handlers               []http.Handler
	small, large, loopback []rounds // by variant
}

// Every variant is measured and in every table. server.New rejects each probe with a status of the contract.
func TestResults(t *testing.T) {
	r := results{variants: variants(), plan: plan{1, 1, 10 * time.Millisecond, 50 * time.Millisecond, 16}}
	if *measure.Full {
		r.plan = plan{21, 150, 50 * time.Millisecond, 50 * time.Millisecond, 16}
	}
	var children []*child
	for _, v := range r.variants {
		handler, err := v.build()
		harness.Check(t, err)
		r.handlers, children = append(r.handlers, handler), append(children, startChild(t, v.name))
	}
	r.small = alternate(children, r.rounds, func(c *child) cost { return c.do(job{Body: small, Slice: r.slice}) })
	r.large = alternate(children, r.rounds, func(c *child) cost { return c.do(job{Body: large, Slice: r.slice}) })
	request := measure.Request(http.MethodPost, createLipsync, goodHeader, smallBody)
	clients := make(map[*child]*measure.Client)
	for _, c := range children {
		clients[c] = measure.NewClient(c.url, r.connections)
		defer clients[c].Close()
	}
	load := func(c *child) cost {
		used, began := c.do(job{}).CPU, time.Now()
		rate := measure.PerSecond(t, r.connections, r.loopbackSlice, func() error {
			_, err := clients[c].SendOK(request)
			return err
		})
		return cost{PerSecond: rate, CPU: (c.do(job{}).CPU - used) / (rate * time.Since(began).Seconds())}
	}
	alternate(children, 1, load) // warm up
	r.loopback = alternate(children, r.loopbackRounds, load)

	for _, p := range probes() {
		if got := p.send(of(r.handlers, serverName)); !got.exact || strings.Contains(got.cell(), " ") {
			t.Errorf("%s: %s", p.name, got.cell())
		}
	}
	text := r.markdown()
	for _, v := range r.variants {
		if n := strings.Count(text, "| "+v.name+" |"); n < 2 {
			t.Errorf("%s is in %d tables", v.name, n)
		}
	}
	measure.Report(t, "RESULTS.md", text)
}

// alternate measures the subjects alternately and returns the rounds of each.
func alternate[T any](subjects []T, n int, measure func(T) cost) []rounds {
	all := make([]rounds, len(subjects))
	for round := range n {
		for offset := range subjects {
			i := (round + offset) % len(subjects)
			all[i] = append(all[i], measure(subjects[i]))
		}
	}
	return all
}

// cost is the cost of a request in one round.
type cost struct {
	NS            float64 // wall time
	CPU           float64 // CPU time in ns, including garbage collection
	Bytes, Allocs float64
	PerSecond     float64 // over loopback
}

func (c cost) ns() float64        { return c.NS }
func (c cost) cpu() float64       { return c.CPU }
func (c cost) bytes() float64     { return c.Bytes }
func (c cost) allocs() float64    { return c.Allocs }
func (c cost) perSecond() float64 { return c.PerSecond }

// rounds are the results of one variant.
type rounds []cost

func (r rounds) median(value func(cost) float64) float64 {
	values := make([]float64, len(r))
	for i, round := range r {
		values[i] = value(round)
	}
	return measure.Median(values)
}

// ratio returns the median of the ratios within each round. Within a round, the load of the machine is about the same
// for both.
func (r rounds) ratio(other rounds, value func(cost) float64) float64 {
	values := make([]float64, len(r))
	for i := range r {
		values[i] = value(r[i]) / value(other[i])
	}
	return measure.Median(values)
}

// of returns the value of a variant.
func of[T any](all []T, name string) T {
	return all[slices.IndexFunc(variants(), func(v variant) bool { return v.name == name })]
}
