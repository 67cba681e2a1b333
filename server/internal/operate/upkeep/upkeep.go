// Package upkeep does what a process of the service does besides its work: it deletes expired rows, finishes tasks that
// a process has left, and tells operators that it runs.
package upkeep

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/telemetry/faultlog"
)

const (
	pruneInterval = time.Hour
	seenInterval  = 15 * time.Second
	// taskInterval bounds how late a process begins a task that another one has left.
	taskInterval = time.Minute
	// removeTimeout bounds the last write, after stop has ended.
	removeTimeout = 2 * time.Second
)

// Config configures [Run]. Store and Logger are required.
type Config struct {
	Store *store.Store
	// Studio finishes the tasks: erasures, and shifts of due times. Default: this process neither finishes tasks nor
	// deletes expired rows.
	Studio *studio.Service
	// Process is the host and the version of this process. Default: the process is not listed.
	Process store.Daemon
	Logger  *slog.Logger
	// Now returns the current time. Default time.Now.
	Now func() time.Time
}

// Run does the upkeep until stop ends.
func Run(stop context.Context, cfg Config) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	faults := &faultlog.Log{Logger: cfg.Logger}
	var running sync.WaitGroup
	defer running.Wait()
	if cfg.Process.Version != "" {
		running.Go(func() { cfg.list(stop, faults) })
	}
	if cfg.Studio != nil {
		running.Go(func() { cfg.prune(stop, faults) })
		running.Go(func() { cfg.finishTasks(stop, faults) })
	}
}

// prune deletes expired rows, by the clock of the database.
func (cfg Config) prune(stop context.Context, faults *faultlog.Log) {
	for ; stop.Err() == nil; studio.Pause(stop, pruneInterval) {
		offset, err := cfg.Store.ClockOffset(stop)
		if err == nil {
			err = cfg.Store.Prune(stop, cfg.Now().Add(offset))
		}
		faults.Error(stop, "prune", err)
	}
}

// finishTasks finishes the tasks that are due.
func (cfg Config) finishTasks(stop context.Context, faults *faultlog.Log) {
	for ; stop.Err() == nil; studio.Await(stop, cfg.Store.Signal(store.SignalTask), taskInterval) {
		faults.Error(stop, "task", cfg.Studio.FinishTasks(stop))
	}
}

// list keeps this process in the list of processes.
func (cfg Config) list(stop context.Context, faults *faultlog.Log) {
	process := cfg.Process
	process.ID, process.Started = cfg.Store.ProcessID(), cfg.Now()
	for ; stop.Err() == nil; studio.Pause(stop, seenInterval) {
		faults.Error(stop, "be seen", cfg.Store.SeeDaemon(stop, process))
	}
	ended, cancel := context.WithTimeout(context.WithoutCancel(stop), removeTimeout)
	defer cancel()
	faults.Error(ended, "be seen", cfg.Store.RemoveDaemon(ended, process.ID))
}
