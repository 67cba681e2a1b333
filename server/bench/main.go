// Command bench compares server.New with other ways to serve the contract, in process and over loopback. It measures
// all variants alternately in one run. "go run ." writes RESULTS.md. "go run . -short" takes seconds and only prints.
// The command does not fail if a variant is slow.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/avatarstudio/avatarstudio/api/harness"
)

func main() {
	harness.RunChild(runChild)
	harness.Main("bench", run)
}

// plan is the extent of the measurements.
type plan struct {
	rounds, loopbackRounds, starts int
	slice, loopbackSlice           time.Duration
	connections                    int
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(progress)
	short := flags.Bool("short", false, "measure for seconds only, and write no file")
	file := flags.String("o", "RESULTS.md", "file to write")
	p := plan{}
	flags.IntVar(&p.rounds, "rounds", 31, "number of rounds in process")
	flags.IntVar(&p.loopbackRounds, "loopback-rounds", 21, "number of rounds over loopback")
	flags.IntVar(&p.connections, "connections", 16, "number of connections over loopback")
	profile := flags.String("profile", "", "only write profiles of server.New in process, to the files FILE.cpu and FILE.allocs")
	body := flags.String("body", small, "request body for -profile: "+small+" or "+large)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *profile != "" {
		return profileServer(*profile, bodies()[*body], 10*time.Second)
	}
	p.slice, p.loopbackSlice, p.starts = 50*time.Millisecond, 500*time.Millisecond, 15
	if *short {
		p.rounds, p.loopbackRounds, p.starts = 3, 3, 3
		p.slice, p.loopbackSlice = 10*time.Millisecond, 50*time.Millisecond
	}
	r, err := measure(ctx, p, progress)
	if err != nil {
		return err
	}
	text := r.markdown()
	if _, err := io.WriteString(out, text); err != nil || *short {
		return err
	}
	return os.WriteFile(*file, []byte(text), 0o600)
}

// results are the measurements of one run.
type results struct {
	plan         plan
	variants     []variant
	small, large []inProcess
	loopback     []loopback
	probes       string
	cold, warm   []time.Duration // of server.New: the first call in a process, and later calls
}

// measure verifies the responses of every variant and then measures all variants.
func measure(ctx context.Context, p plan, progress io.Writer) (*results, error) {
	r := &results{plan: p, variants: variants()}
	var handlers []http.Handler
	var children []*child
	for _, v := range r.variants {
		handler, err := v.build()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.name, err)
		}
		for _, body := range bodies() {
			if err := verify(handler, body); err != nil {
				return nil, fmt.Errorf("%s: %w", v.name, err)
			}
		}
		c, err := startChild(ctx, v.name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = c.Close() }() // its results have been read
		handlers, children = append(handlers, handler), append(children, c)
	}
	steps := []struct {
		name string
		do   func() error
	}{
		{"invalid requests", func() (err error) { r.probes, err = probeTable(r.variants, handlers); return }},
		{"start-up", func() (err error) {
			if r.cold, err = coldStartUps(ctx, p.starts); err == nil {
				r.warm, err = startUps(p.starts)
			}
			return
		}},
		{"in process, small", func() (err error) { r.small, err = measureInProcess(children, small, p.rounds, p.slice); return }},
		{"in process, large", func() (err error) { r.large, err = measureInProcess(children, large, p.rounds, p.slice); return }},
		{"loopback", func() (err error) {
			r.loopback, err = measureLoopback(ctx, children, p.connections, p.loopbackRounds, p.loopbackSlice)
			return
		}},
	}
	for _, step := range steps {
		fmt.Fprintln(progress, "measuring:", step.name)
		if err := step.do(); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return r, nil
}

// index returns the position of a variant, or -1.
func (r *results) index(name string) int {
	for i, v := range r.variants {
		if v.name == name {
			return i
		}
	}
	return -1
}
