// Package metrics exposes the metrics of a process and the queue in its database to Prometheus.
//
// Labels have few values that are known in advance: operations, statuses, keywords, outcomes and kinds, but
// never URLs, users or ids. All processes with the same database report the same queue: aggregate it with
// max, not with sum.
package metrics

import (
	"context"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/mail"
	"github.com/avatarstudio/avatarstudio/server/internal/render"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

const (
	// scrapes limits the concurrent scrapes.
	scrapes = 4
	// loginOperation is the operation whose responses are counted as logins.
	loginOperation = "login"
)

// Metrics are the metrics of a process. They are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	database *database

	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	refused   *prometheus.CounterVec
	logins    *prometheus.CounterVec

	attempts         *prometheus.CounterVec
	attemptDurations prometheus.Histogram

	renderings         *prometheus.CounterVec
	renderingDurations *prometheus.HistogramVec

	streamEnds *prometheus.CounterVec
	mails      *prometheus.CounterVec

	mu        sync.RWMutex
	responses map[response]responseMetrics
}

// response has the labels of a counted request.
type response struct {
	operation string
	status    int
}

// responseMetrics caches the metrics for a response, because looking them up takes longer than counting.
type responseMetrics struct {
	requests  prometheus.Counter
	durations prometheus.Observer
	login     prometheus.Counter // nil for other operations
}

// New returns the metrics of a process. version is the version of the program.
func New(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		database: new(database),
		requests: counters("studiod_http_requests_total", "Requests, by operation and HTTP status; 0 is a connection that broke before the response.", "operation", "status"),
		durations: histograms("studiod_http_request_duration_seconds", "Duration of requests, by operation.",
			[]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}, "operation"),
		refused:  counters("studiod_http_requests_refused_total", "Rejected requests, by the keyword of JSON Schema or of the service that they violated.", "keyword"),
		logins:   counters("studiod_logins_total", "Logins, by outcome.", "outcome"),
		attempts: counters("studiod_delivery_attempts_total", "Delivery attempts, by outcome and failure.", "outcome", "failure"),
		attemptDurations: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "studiod_delivery_attempt_duration_seconds", Help: "Duration of delivery attempts.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15},
		}),
		renderings: counters("studiod_renderings_total", "Renderings, by kind and outcome.", "kind", "outcome"),
		renderingDurations: histograms("studiod_rendering_duration_seconds", "Duration of renderings, by kind.",
			[]float64{.1, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 900}, "kind"),
		streamEnds: counters("studiod_event_streams_ended_total", "Ended streams of events, by reason.", "reason"),
		mails:      counters("studiod_mails_total", "Mails to users and tries that are repeated, by outcome.", "outcome"),
		responses:  make(map[response]responseMetrics),
	}
	build := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "studiod_build_info", Help: "Version of the program.",
		ConstLabels: prometheus.Labels{"version": version, "go": runtime.Version()},
	}, func() float64 { return 1 })
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), build,
		m.database, m.requests, m.durations, m.refused, m.logins, m.attempts, m.attemptDurations, m.renderings, m.renderingDurations, m.streamEnds, m.mails)
	m.begin()
	return m
}

// begin creates the rare series with value 0, because Prometheus does not see an increase when a series first
// appears.
func (m *Metrics) begin() {
	for _, outcome := range loginOutcomes {
		m.logins.WithLabelValues(outcome)
	}
	for _, known := range streamEnds {
		m.streamEnds.WithLabelValues(known.reason)
	}
	for _, outcome := range []mail.Outcome{mail.Sent, mail.Retried, mail.Failed, mail.Dropped} {
		m.mails.WithLabelValues(string(outcome))
	}
	m.attempts.WithLabelValues(string(studio.EventDelivered), "")
	for _, outcome := range []studio.EventState{studio.EventPending, studio.EventExhausted} {
		m.attempts.WithLabelValues(string(outcome), string(sender.FailureStatus))
	}
	for _, rules := range studio.Kinds() {
		for _, outcome := range []render.Outcome{render.Succeeded, render.Retried, render.Failed} {
			m.renderings.WithLabelValues(string(rules.Kind), string(outcome))
		}
	}
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

// Handler returns the handler for scrapes.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: scrapes})
}

// Watch adds the metrics of a database: its queue and its connections. A scrape before that lacks them.
func (m *Metrics) Watch(db *store.Store) { m.database.watch(db) }

// WatchCertificate adds the expiry of the certificate of the server. Call it once.
func (m *Metrics) WatchCertificate(expires func() time.Time) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "studiod_certificate_expiry_timestamp_seconds", Help: "When the certificate for TLS expires; 0 if there is none yet.",
	}, func() float64 {
		if at := expires(); !at.IsZero() {
			return float64(at.Unix())
		}
		return 0
	}))
}

// Status returns the status of the queue in the database, which it caches for 5 seconds to a minute, the longer
// the longer the query takes. Scrapes use the same cache. It returns an error until Watch is called.
func (m *Metrics) Status(ctx context.Context) (store.Status, error) { return m.database.status(ctx) }

// RecordResponse counts a response. It can be used as the OnResponse function of server.Config.
func (m *Metrics) RecordResponse(a server.Response) {
	metrics := m.of(response{a.OperationID, a.Status})
	metrics.requests.Inc()
	metrics.durations.Observe(a.Duration.Seconds())
	if metrics.login != nil {
		metrics.login.Inc()
	}
	if a.Status >= http.StatusInternalServerError { // the violations are not of the request
		return
	}
	for i, v := range a.Violations {
		counted := false
		for _, earlier := range a.Violations[:i] {
			counted = counted || earlier.Keyword == v.Keyword
		}
		if !counted {
			m.refused.WithLabelValues(v.Keyword).Inc()
		}
	}
}

func (m *Metrics) of(a response) responseMetrics {
	m.mu.RLock()
	known, ok := m.responses[a]
	m.mu.RUnlock()
	if ok {
		return known
	}
	operation := a.operation
	if operation == "" {
		operation = "none"
	}
	known.requests = m.requests.WithLabelValues(operation, strconv.Itoa(a.status))
	known.durations = m.durations.WithLabelValues(operation)
	if a.operation == loginOperation {
		known.login = m.logins.WithLabelValues(loginOutcome(a.status))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.responses[a] = known
	return known
}

// loginOutcomes are the results of loginOutcome.
//
//nolint:gochecknoglobals // a table
var loginOutcomes = []string{"succeeded", "refused", "delayed", "busy", "invalid", "failed"}

func loginOutcome(status int) string {
	switch {
	case status == http.StatusOK:
		return "succeeded"
	case status == http.StatusUnauthorized:
		return "refused"
	case status == http.StatusTooManyRequests:
		return "delayed"
	case status == http.StatusServiceUnavailable:
		return "busy"
	case status >= http.StatusBadRequest && status < http.StatusInternalServerError:
		return "invalid"
	default:
		return "failed"
	}
}

// Attempted counts a delivery attempt, with the state of the event after it, for deliver.Config.
func (m *Metrics) Attempted(outcome studio.EventState, attempt sender.Attempt) {
	m.attempts.WithLabelValues(string(outcome), string(attempt.Failure)).Inc()
	m.attemptDurations.Observe(attempt.Duration.Seconds())
}

// Rendered counts a rendering, for render.Config.
func (m *Metrics) Rendered(kind studio.Kind, outcome render.Outcome, took time.Duration) {
	m.renderings.WithLabelValues(string(kind), string(outcome)).Inc()
	m.renderingDurations.WithLabelValues(string(kind)).Observe(took.Seconds())
}

// Mailed counts a mail or a try, for mail.Config.
func (m *Metrics) Mailed(outcome mail.Outcome) { m.mails.WithLabelValues(string(outcome)).Inc() }
