package faultlog_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/telemetry/faultlog"
)

func TestLog_Report_logsOneLineOfEachKindInEachInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const workers, failures = 256, 60
		var lines bytes.Buffer
		log := faultlog.Log{Logger: slog.New(slog.NewTextHandler(&lines, nil))}
		var group sync.WaitGroup
		for range workers {
			group.Go(func() {
				for range failures {
					log.Report(t.Context(), slog.LevelError, "record", "not recorded", "err", "full")
					log.Report(t.Context(), slog.LevelWarn, "render", "not rendered")
					time.Sleep(time.Second)
				}
			})
		}
		group.Wait()
		for message, level := range map[string]string{"not recorded": "ERROR", "not rendered": "WARN"} {
			if n := strings.Count(lines.String(), "level="+level+" msg=\""+message); n != failures*int(time.Second)/int(faultlog.Interval) {
				t.Errorf("%q is logged %d times", message, n)
			}
		}
		if repeated := strings.Count(lines.String(), "err=full repeated=2559\n"); repeated != 5 {
			t.Errorf("%d lines have the number of failures:\n%s", repeated, &lines)
		}
	})
}
