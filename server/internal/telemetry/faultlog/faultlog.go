// Package faultlog logs the failures of work that is retried, such as the records of hundreds of workers while a disk
// is full.
package faultlog

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// Interval is the least time between two lines about work of one kind.
const Interval = 10 * time.Second

// Log logs failures to Logger: the first one of each kind at once, and then one every [Interval] while there are any. A
// line has the number of failures that were not logged since the one before, as "repeated". It is safe for concurrent
// use.
type Log struct {
	Logger *slog.Logger

	mu    sync.Mutex
	kinds map[string]*kind
}

type kind struct {
	logged   time.Time
	repeated int
}

// Error reports an error of some work. It ignores a nil error and the end of a context.
func (l *Log) Error(ctx context.Context, work string, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		l.Report(ctx, slog.LevelError, work, "work failed", "work", work, "err", err)
	}
}

// Report logs a failure of work of a kind, of which a program has few.
func (l *Log) Report(ctx context.Context, level slog.Level, work, message string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kinds[work]
	if k == nil {
		k = new(kind)
		if l.kinds == nil {
			l.kinds = make(map[string]*kind)
		}
		l.kinds[work] = k
	}
	now := time.Now()
	if now.Sub(k.logged) < Interval {
		k.repeated++
		return
	}
	if k.repeated > 0 {
		args = append(args, "repeated", k.repeated)
	}
	*k = kind{logged: now}
	l.Logger.Log(ctx, level, message, args...) //nolint:sloglint // it is a constant of the caller
}
