// Package measure is shared by the benchmarks of studiod. It creates databases, measures rates, and formats figures.
// Package harness starts the processes and measures their CPU time and memory.
package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/avatarstudio/avatarstudio/api/gobuild"
)

// Studiod builds studiod and returns the path of the program.
func Studiod(ctx context.Context) (program string, err error) {
	return gobuild.Program(ctx, "github.com/avatarstudio/avatarstudio/server/cmd/studiod")
}

// EachDatabase calls measure with the path of studiod and a directory for each kind of database.
func EachDatabase(ctx context.Context, measure func(program, directory string, kind *Databases) error) (err error) {
	directory, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()
	program, err := Studiod(ctx)
	if err != nil {
		return err
	}
	kinds, stop, err := OpenDatabases(directory) //nolint:contextcheck // the cluster is stopped
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	for _, kind := range kinds {
		if err := measure(program, directory, kind); err != nil {
			return fmt.Errorf("%s: %w", kind.Name, err)
		}
	}
	return nil
}

// PerSecond calls do repeatedly from several goroutines and returns the number of calls per second.
func PerSecond(goroutines int, d time.Duration, do func() error) (float64, error) {
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
	return float64(count.Load()) / time.Since(began).Seconds(), errors.Join(errs...)
}
