// Package measure is what the benchmarks have in common. The benchmarks are tests: a run of a few seconds checks that
// everything is measured, and a run with the flag -full measures at length and writes the report. Package harness
// starts the processes and measures their CPU time and memory.
package measure

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// Full is the flag of a run that measures at length and writes the reports.
var Full = flag.Bool("full", false, "measure at length, and write the reports")

// Report logs a report. With -full, it writes the report to a file.
func Report(t *testing.T, file, text string) {
	t.Helper()
	t.Log("\n" + text)
	if *Full {
		harness.Check(t, os.WriteFile(file, []byte(text), 0o644)) //nolint:gosec // the report is public
	}
}

// Machine describes this machine.
func Machine() string {
	return fmt.Sprintf("%s %s/%s, %d CPUs", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
}

// Percentile returns the smallest value that at least the given percentage of the values do not exceed. It returns 0 if
// there are no values.
func Percentile[T cmp.Ordered](values []T, percent float64) (value T) {
	if len(values) == 0 {
		return value
	}
	values = slices.Sorted(slices.Values(values))
	return values[int(math.Ceil(float64(len(values))*percent/100))-1]
}

// Median returns the 50th percentile.
func Median[T cmp.Ordered](values []T) T { return Percentile(values, 50) }

// PerSecond calls do repeatedly from several goroutines, for about d, and returns the number of calls per second.
func PerSecond(t testing.TB, goroutines int, d time.Duration, do func() error) float64 {
	t.Helper()
	var count atomic.Int64
	var working sync.WaitGroup
	errs := make([]error, goroutines)
	began := time.Now()
	for i := range goroutines {
		working.Go(func() {
			for time.Since(began) < d && errs[i] == nil {
				errs[i] = do()
				count.Add(1)
			}
		})
	}
	working.Wait()
	harness.Check(t, errors.Join(errs...))
	return float64(count.Load()) / time.Since(began).Seconds()
}
