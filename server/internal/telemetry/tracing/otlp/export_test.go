package otlp

import "context"

// Flush exports the spans in the queue.
func (e *Exporter) Flush(ctx context.Context) { _ = e.provider.ForceFlush(ctx) }
