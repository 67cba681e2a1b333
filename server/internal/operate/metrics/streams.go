package metrics

import (
	"cmp"
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

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
			m.streamEnds.WithLabelValues(known.reason).Inc()
			return
		}
	}
}

// WatchStreams adds the counts of the streams of events. Call it once.
func (m *Metrics) WatchStreams(counts func() (open int, sent uint64)) {
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "studiod_event_streams", Help: "Open streams of events.",
		}, func() float64 { open, _ := counts(); return float64(open) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "studiod_event_stream_items_total", Help: "Items sent to streams of events.",
		}, func() float64 { _, sent := counts(); return float64(sent) }),
	)
}
