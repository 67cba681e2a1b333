package otlp

import "context"

// Flush sends what waits.
func (e *Exporter) Flush(ctx context.Context) { _ = e.provider.ForceFlush(ctx) }
