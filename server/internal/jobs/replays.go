package jobs

import (
	"context"
	"time"
)

// replay works off replays until stop ends. After each batch it pauses for as long as the batch took, so that other writes
// have at least half of the time of the database.
func (j *Jobs) replay(stop context.Context) {
	for stop.Err() == nil {
		began := time.Now()
		next, err := j.Store.ReplayNext(stop, j.Now())
		wait := j.rescanInterval / 6 // for replays of commands, and of processes that died
		switch {
		case err != nil:
			j.report(stop, "replay", err)
			wait = errorPause
		case !next.IsZero():
			wait = min(wait, max(next.Sub(j.Now()), time.Since(began)))
		}
		timer := time.NewTimer(wait)
		select {
		case <-stop.Done():
		case <-j.Store.ReplayDue():
		case <-timer.C:
		}
		timer.Stop()
	}
}
