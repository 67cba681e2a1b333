package metrics

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/VictoriaMetrics/metrics"
)

// texts explain the metrics, one in each line.
const texts = `studiod_backup_age_seconds Time since the latest complete backup, or since the start if none is known.
studiod_backup_failing 1 if the last backup has failed, and 0 otherwise.
studiod_backup_interval_seconds Interval between backups.
studiod_breakers_open Receivers with an open circuit breaker, for all processes with the database.
studiod_build_info Version of the program.
studiod_certificate_expiry_timestamp_seconds When the certificate for TLS expires; 0 if there is none yet.
studiod_database_connection_wait_seconds_total Total time waited for a free connection of a pool.
studiod_database_connections Connections to the database, by pool and state.
studiod_database_connections_max The maximum number of connections of a pool.
studiod_database_up 1 if the database can be read, and 0 otherwise.
studiod_deliveries_paused 1 if an operator has paused all deliveries, and 0 otherwise.
studiod_delivery_attempt_duration_seconds Duration of delivery attempts.
studiod_delivery_attempts_total Delivery attempts, by outcome and failure.
studiod_http_request_duration_seconds Duration of requests, by operation.
studiod_http_requests_refused_total Rejected requests, by the keyword of JSON Schema or of the service that they violated.
studiod_http_requests_total Requests, by operation and HTTP status; 0 is a connection that broke before the response.
studiod_mails_total Mails to users and tries that are repeated, by outcome.
studiod_queue_due Subjects with due work that is not in progress, without those of paused URLs, up to 100,000, for all processes with the database.
studiod_queue_oldest_due_seconds How long the oldest due subject has been due, for all processes with the database.
studiod_rendering_duration_seconds Duration of renderings, by kind.
studiod_renderings_total Renderings, by kind and outcome.
`

// explainer returns a replacer that adds the texts, which the library does not know.
func explainer() *strings.Replacer {
	var replaced []string
	for text := range strings.Lines(texts) {
		name, _, _ := strings.Cut(text, " ")
		replaced = append(replaced, "# HELP "+name+"\n", "# HELP "+text)
	}
	return strings.NewReplacer(replaced...)
}

// Handler returns the handler for scrapes.
func (m *Metrics) Handler() http.Handler {
	explain := explainer()
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var shown bytes.Buffer
		m.set.WritePrometheus(&shown)
		metrics.WriteProcessMetrics(&shown)
		metrics.WriteFDMetrics(&shown)
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = explain.WriteString(w, shown.String()) // the client is gone
	})
}

func (m *Metrics) counterf(series string, labels ...any) *metrics.Counter {
	return m.set.GetOrCreateCounter(fmt.Sprintf(series, labels...))
}

func (m *Metrics) histogramf(buckets []float64, series string, labels ...any) *metrics.PrometheusHistogram {
	return m.set.GetOrCreatePrometheusHistogramExt(fmt.Sprintf(series, labels...), buckets)
}

// scrape has the series that are read for one scrape.
type scrape struct{ set *metrics.Set }

// collect lets read add series to each scrape.
func (m *Metrics) collect(read func(scrape)) {
	m.set.RegisterMetricsWriter(func(w io.Writer) {
		now := scrape{metrics.NewSet()}
		read(now)
		now.set.WritePrometheus(w)
	})
}

func (s scrape) gaugef(value float64, series string, labels ...any) {
	s.set.NewGauge(fmt.Sprintf(series, labels...), nil).Set(value)
}

func (s scrape) counterf(value float64, series string, labels ...any) {
	s.set.NewFloatCounter(fmt.Sprintf(series, labels...)).Set(value)
}
