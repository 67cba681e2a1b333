package metrics

import (
	"cmp"
	"context"
	"errors"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// streamEnds are the reasons for the end of a stream. The first match is used.
//
//nolint:gochecknoglobals // a table
var streamEnds = []struct {
	err    error // any other for nil
	reason string
}{
	{stream.ErrStalled, "stalled"},
	{studio.ErrUnauthorized, "unauthorized"},
	{stream.ErrShutdown, "shutdown"},
	{context.Canceled, "client"},
	{nil, "failed"},
}

// StreamEnded counts a stream of events that ended for a reason, or that its client ended if the reason is nil.
func (m *Metrics) StreamEnded(reason error) {
	reason = cmp.Or(reason, context.Canceled)
	for _, known := range streamEnds {
		if known.err == nil || errors.Is(reason, known.err) {
			m.counterf(`studiod_event_streams_ended_total{reason=%q}`, known.reason).Inc()
			return
		}
	}
}

// WatchStreams adds the counts of the streams of events. Call it once.
func (m *Metrics) WatchStreams(counts func() (open int, sent uint64)) {
	m.collect(func(now scrape) {
		open, sent := counts()
		now.gaugef(float64(open), "studiod_event_streams")
		now.counterf(float64(sent), "studiod_event_stream_items_total")
	})
}
