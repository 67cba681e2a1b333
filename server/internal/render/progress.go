package render

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// progressInterval is the minimum time between two writes of progress.
const progressInterval = time.Second

// progress returns a function that records progress without blocking the program, and a function that
// waits until the last write has finished.
func (e *Exec) progress(ctx context.Context, subjectID string) (progress func(done float64, stage protocol.Stage), wait func()) {
	latest, ended := make(chan studio.Progress, 1), make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for reported := range latest {
			e.recordProgress(ctx, subjectID, reported)
			select {
			case <-time.After(progressInterval):
			case <-ended:
				return
			}
		}
	})
	estimate := newEstimate(time.Now())
	return func(done float64, stage protocol.Stage) {
			select {
			case <-latest: // replaced by a newer one
			default:
			}
			latest <- studio.Progress{Done: done, Stage: string(stage), Left: estimate.left(done, stage, time.Now())}
		}, func() {
			close(ended)
			close(latest)
			writing.Wait()
		}
}

func (e *Exec) recordProgress(ctx context.Context, subjectID string, progress studio.Progress) {
	if err := e.Studio.Progressed(ctx, subjectID, progress); err != nil && ctx.Err() == nil {
		e.faults.Report(ctx, slog.LevelWarn, "progress", "progress not recorded", "id", subjectID, "err", err)
	}
}

// An estimate is about the time that a rendering still takes. Stages may differ in speed, and the first one may begin
// late, so it uses the speed since the first report of the current stage as soon as that has done enough.
type estimate struct {
	began      point
	stage      protocol.Stage
	stageBegan point // zero before the first report
}

// point is a progress at a time.
type point struct {
	at   time.Time
	done float64
}

const (
	minEstimated = 0.1  // there is no estimate below this progress
	minMeasured  = 0.03 // of the progress must be made in a stage to know its speed
)

func newEstimate(now time.Time) *estimate { return &estimate{began: point{at: now}} }

// left returns the estimated time left, or 0 if it cannot be estimated yet.
func (e *estimate) left(done float64, stage protocol.Stage, now time.Time) time.Duration {
	if stage != e.stage || e.stageBegan.at.IsZero() {
		e.stage, e.stageBegan = stage, point{now, done}
	}
	if done < minEstimated {
		return 0
	}
	since := e.began
	if done-e.stageBegan.done >= minMeasured {
		since = e.stageBegan
	}
	return time.Duration(float64(now.Sub(since.at)) * (1 - done) / (done - since.done))
}
