// Package metrics counts what a process does and shows what waits in its database, for Prometheus.
//
// The values of labels are few and known beforehand: operations, statuses, keywords, outcomes and
// kinds, never a URL, a user or an id. What waits in the database is the same for all processes that
// work on it: take the max over them, not the sum.
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
	"github.com/avatarstudio/avatarstudio/server/internal/jobs"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

const (
	// scrapes is how many scrapes are answered at once.
	scrapes = 4
	// loginOperation is the operation whose answers are the outcomes of logins.
	loginOperation = "login"
)

// Metrics are those of a process. They are safe for concurrent use.
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

	mu       sync.RWMutex
	answered map[answer]answerMetrics
}

// answer is what requests are counted by.
type answer struct {
	operation string
	status    int
}

// answerMetrics are kept because it takes longer to find them than to count.
type answerMetrics struct {
	requests  prometheus.Counter
	durations prometheus.Observer
	login     prometheus.Counter // nil when it is none
}

// New makes the metrics of a process of a version.
func New(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		database: new(database),
		requests: counters("studiod_http_requests_total", "Requests, by operation of the contract and HTTP status; 0 is a connection that broke before.", "operation", "status"),
		durations: histograms("studiod_http_request_duration_seconds", "How long requests took, by operation of the contract.",
			[]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}, "operation"),
		refused:  counters("studiod_http_requests_refused_total", "Requests that broke a rule, by the keyword of JSON Schema or of the service.", "keyword"),
		logins:   counters("studiod_logins_total", "Logins, by outcome.", "outcome"),
		attempts: counters("studiod_delivery_attempts_total", "Attempts to deliver an event, by what they made of it and why they failed.", "outcome", "failure"),
		attemptDurations: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "studiod_delivery_attempt_duration_seconds", Help: "How long attempts to deliver an event took.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15},
		}),
		renderings: counters("studiod_renderings_total", "Renderings, by kind and what they made of it.", "kind", "outcome"),
		renderingDurations: histograms("studiod_rendering_duration_seconds", "How long renderings took, by kind.",
			[]float64{.1, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 900}, "kind"),
		answered: make(map[answer]answerMetrics),
	}
	build := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "studiod_build_info", Help: "Which version this is.",
		ConstLabels: prometheus.Labels{"version": version, "go": runtime.Version()},
	}, func() float64 { return 1 })
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), build,
		m.database, m.requests, m.durations, m.refused, m.logins, m.attempts, m.attemptDurations, m.renderings, m.renderingDurations)
	m.begin()
	return m
}

// begin makes what is rare be there from the start: an increase from nothing is none for Prometheus.
func (m *Metrics) begin() {
	for _, outcome := range loginOutcomes {
		m.logins.WithLabelValues(outcome)
	}
	m.attempts.WithLabelValues(string(jobs.AttemptDelivered), "")
	for _, outcome := range []jobs.AttemptOutcome{jobs.AttemptRetried, jobs.AttemptExhausted} {
		m.attempts.WithLabelValues(string(outcome), string(sender.FailureStatus))
	}
	for _, kind := range []studio.Kind{studio.Avatar, studio.Video, studio.Lipsync} {
		for _, outcome := range []jobs.RenderingOutcome{jobs.RenderingSucceeded, jobs.RenderingRetried, jobs.RenderingFailed} {
			m.renderings.WithLabelValues(string(kind), string(outcome))
		}
	}
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

// Handler answers scrapes.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: scrapes})
}

// Watch shows what waits in a database, and its connections.
func (m *Metrics) Watch(db *store.Store) { m.database.watch(db) }

// Status is what waits in the database, as the last scrape has shown it or a later one will.
func (m *Metrics) Status(ctx context.Context) (store.Status, error) { return m.database.status(ctx) }

// Answered counts a request, for server.Config.
func (m *Metrics) Answered(a server.Answer) {
	metrics := m.of(answer{a.OperationID, a.Status})
	metrics.requests.Inc()
	metrics.durations.Observe(a.Duration.Seconds())
	if metrics.login != nil {
		metrics.login.Inc()
	}
	if a.Status >= http.StatusInternalServerError { // it was not the request that broke a rule
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

func (m *Metrics) of(a answer) answerMetrics {
	m.mu.RLock()
	known, ok := m.answered[a]
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
	m.answered[a] = known
	return known
}

// loginOutcomes are what loginOutcome returns.
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

// Attempted counts an attempt, for jobs.Config.
func (m *Metrics) Attempted(outcome jobs.AttemptOutcome, attempt sender.Attempt) {
	m.attempts.WithLabelValues(string(outcome), string(attempt.Failure)).Inc()
	m.attemptDurations.Observe(attempt.Duration.Seconds())
}

// Rendered counts a rendering, for jobs.Config.
func (m *Metrics) Rendered(kind studio.Kind, outcome jobs.RenderingOutcome, took time.Duration) {
	m.renderings.WithLabelValues(string(kind), string(outcome)).Inc()
	m.renderingDurations.WithLabelValues(string(kind)).Observe(took.Seconds())
}
