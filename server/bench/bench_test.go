package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/harness"
)

func TestMain(m *testing.M) {
	harness.RunChild(runChild)
	os.Exit(m.Run())
}

// The results are comparable only if every variant responds to the valid request in the same way.
func TestVariants_acceptValidRequest(t *testing.T) {
	t.Parallel()
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			handler, err := v.build()
			if err != nil {
				t.Fatal(err)
			}
			for _, body := range []string{smallBody, largeBody()} {
				if err := verify(handler, body); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// Each variant with checks rejects an invalid request. server.New rejects every probe with a status of the contract.
func TestVariants_rejectInvalidRequests(t *testing.T) {
	t.Parallel()
	for _, v := range variants() {
		if !v.checks {
			continue
		}
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			handler, err := v.build()
			if err != nil {
				t.Fatal(err)
			}
			for i, p := range probes() {
				got, err := p.send(handler)
				if err != nil {
					t.Fatal(err)
				}
				switch {
				case v.name == serverName && (!got.exact || strings.Contains(got.cell(), " ")):
					t.Errorf("%s: %s", p.name, got.cell())
				case i == 0 && !got.rejected:
					t.Errorf("%s: %d", p.name, got.status)
				}
			}
		})
	}
}

func TestRun_reportsEveryVariant(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-short"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, v := range variants() {
		if n := strings.Count(out.String(), "| "+v.name+" |"); n < 3 {
			t.Errorf("%s is in %d tables:\n%s", v.name, n, out.String())
		}
	}
}

func TestMedian_ofOddAndEvenCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 2, 9}, 3}} {
		if got := median(c.values); got != c.want {
			t.Errorf("median of %v is %v", c.values, got)
		}
	}
}
