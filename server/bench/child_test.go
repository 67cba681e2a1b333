package bench_test

import (
	"context"
	"encoding/gob"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// job makes a child serve a body for about a time without a network. The response is the cost of a request. The zero
// job returns the CPU time that the process has used.
type job struct {
	Body  string
	Slice time.Duration
}

// runChild runs this program as the server of the variant in args, writes its URL, and does jobs until the end of its
// input.
func runChild(_ context.Context, args []string, in io.Reader, out io.Writer) error {
	decoder, encoder := gob.NewDecoder(in), gob.NewEncoder(out)
	handler, err := of(variants(), args[0]).build()
	if err != nil {
		return err
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	calls, sizes := make(map[string]*call), make(map[job]int)
	for name, body := range map[string]string{small: smallBody, large: largeBody()} {
		calls[name] = newCall(http.MethodPost, createLipsync, goodHeader, body)
	}
	err = encoder.Encode(server.URL)
	for err == nil {
		var j job
		if err = decoder.Decode(&j); errors.Is(err, io.EOF) {
			return nil
		}
		result := cost{CPU: cpuTime()}
		if j != (job{}) {
			if sizes[j] == 0 {
				sizes[j] = calls[j.Body].calibrate(handler, j.Slice)
			}
			result = costOf(sizes[j], func() { calls[j.Body].serve(handler) })
			err = errors.Join(err, calls[j.Body].verify())
		}
		err = errors.Join(err, encoder.Encode(result))
	}
	return err
}

// cpuTime returns the CPU time of this process in ns.
func cpuTime() float64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // never fails
	return float64(usage.Utime.Nano() + usage.Stime.Nano())
}

// calibrate warms up the handler and returns the number of requests that it serves in a slice.
func (c *call) calibrate(handler http.Handler, slice time.Duration) (n int) {
	for began := time.Now(); time.Since(began) < slice; n++ {
		c.serve(handler)
	}
	return n
}

// costOf returns the mean cost of n calls of do.
func costOf(n int, do func()) cost {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	used, began := cpuTime(), time.Now()
	for range n {
		do()
	}
	elapsed := time.Since(began)
	used = cpuTime() - used
	runtime.ReadMemStats(&after)
	return cost{
		NS:     float64(elapsed.Nanoseconds()) / float64(n),
		CPU:    used / float64(n),
		Bytes:  float64(after.TotalAlloc-before.TotalAlloc) / float64(n),
		Allocs: float64(after.Mallocs-before.Mallocs) / float64(n),
	}
}

// child is a variant that runs in its own process.
type child struct {
	t       *testing.T
	url     string
	encoder *gob.Encoder
	decoder *gob.Decoder
}

func startChild(t *testing.T, name string) *child {
	t.Helper()
	started, err := harness.StartChild(context.Background(), name)
	harness.Check(t, err)
	t.Cleanup(func() { harness.Check(t, started.Close()) })
	c := &child{t: t, encoder: gob.NewEncoder(started.In), decoder: gob.NewDecoder(started.Out)}
	harness.Check(t, c.decoder.Decode(&c.url))
	return c
}

func (c *child) do(j job) (result cost) {
	c.t.Helper()
	harness.Check(c.t, errors.Join(c.encoder.Encode(j), c.decoder.Decode(&result)))
	return result
}
