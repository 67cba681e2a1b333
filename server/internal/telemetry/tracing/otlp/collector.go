package otlp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// maxAnswer bounds the answers of a collector that are read, in bytes.
const maxAnswer = 64 << 10

// A collector sends spans to an OpenTelemetry collector, until ctx ends. It logs the first failure and the first
// success after it, but returns no errors: the SDK would write each one to stderr.
type collector struct {
	url     string
	headers http.Header
	client  *http.Client
	ctx     context.Context //nolint:containedctx // ends when the exporter is closed
	logger  *slog.Logger
	failing bool
}

// newCollector returns a collector without ctx and logger.
func newCollector(target *url.URL) (*collector, error) {
	headers := http.Header{"Content-Type": {"application/json"}}
	for pair := range strings.SplitSeq(os.Getenv("OTEL_EXPORTER_OTLP_HEADERS"), ",") {
		name, encoded, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(encoded))
		if name = strings.TrimSpace(name); name == "" && !ok {
			continue
		} else if name == "" || !ok || err != nil {
			return nil, ErrHeaders
		}
		headers.Set(name, value)
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: exportTimeout}
	return &collector{
		url: target.JoinPath("v1/traces").String(), headers: headers,
		client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the headers are for this collector
		}},
	}, nil
}

// ExportSpans implements [sdk.SpanExporter]. It is not called concurrently.
func (c *collector) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if c.ctx.Err() != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)() //nolint:contextcheck // a second reason to cancel
	err := c.send(ctx, spans)
	if failing := err != nil; failing != c.failing {
		c.failing = failing
		if failing {
			c.logger.WarnContext(ctx, "export to the trace collector fails; spans are dropped until it succeeds", "err", err)
		} else {
			c.logger.InfoContext(ctx, "export to the trace collector succeeds again")
		}
	}
	return nil
}

// Shutdown implements [sdk.SpanExporter].
func (c *collector) Shutdown(context.Context) error {
	c.client.CloseIdleConnections()
	return nil
}

// send sends spans once: a collector that is too busy for them loses them.
func (c *collector) send(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	body, err := json.Marshal(newRequest(spans))
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header = c.headers.Clone()
	response, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 { // the body of a 101 is the connection, which does not end with the context
		return fmt.Errorf("the collector answers %s", response.Status)
	}
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswer) // so that the connection can be used again
	return nil
}
