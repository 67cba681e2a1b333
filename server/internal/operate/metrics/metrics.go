// Package metrics exposes the metrics of a process and the queue in its database to Prometheus.
//
// Labels have few values that are known in advance: operations, statuses, keywords, outcomes and kinds, but
// never URLs, users or ids. All processes with the same database report the same queue: aggregate it with
// max, not with sum.
package metrics

import (
	"cmp"
	"net/http"
	"runtime"
	"slices"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/mail"
	"github.com/avatarstudio/avatarstudio/server/internal/render"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// Metrics are the metrics of a process. They are safe for concurrent use.
type Metrics struct {
	set *metrics.Set

	responses        cache[response, responseMetrics]
	attempts         cache[attempt, *metrics.Counter]
	attemptDurations *metrics.PrometheusHistogram
}

// response has the labels of a counted request.
type response struct {
	operation string
	status    int
}

// responseMetrics are the metrics for a response.
type responseMetrics struct {
	requests  *metrics.Counter
	durations *metrics.PrometheusHistogram
}

// attempt has the labels of a counted delivery attempt.
type attempt struct {
	outcome studio.EventState
	failure sender.Failure
}

// New returns the metrics of a process. version is the version of the program.
func New(version string) *Metrics {
	metrics.ExposeMetadata(true)
	m := &Metrics{set: metrics.NewSet()}
	m.attemptDurations = m.histogramf([]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15}, "studiod_delivery_attempt_duration_seconds")
	scrape{m.set}.gaugef(1, `studiod_build_info{go=%q,version=%q}`, runtime.Version(), version)
	m.begin()
	return m
}

// begin creates the rare series with value 0, because Prometheus does not see an increase when a series first
// appears.
func (m *Metrics) begin() {
	for _, outcome := range []mail.Outcome{mail.Sent, mail.Retried, mail.Failed, mail.Dropped} {
		m.counterf(`studiod_mails_total{outcome=%q}`, outcome)
	}
	m.ofAttempt(attempt{studio.EventDelivered, ""})
	for _, failure := range []sender.Failure{
		sender.FailureInvalid, sender.FailureBlocked, sender.FailureDNS, sender.FailureConnect, sender.FailureTLS,
		sender.FailureTimeout, sender.FailureReset, sender.FailureProtocol, sender.FailureStatus,
	} {
		m.ofAttempt(attempt{studio.EventExhausted, failure})
	}
	for _, rules := range studio.Kinds() {
		for _, outcome := range []render.Outcome{render.Succeeded, render.Retried, render.Failed} {
			m.counterf(`studiod_renderings_total{kind=%q,outcome=%q}`, rules.Kind, outcome)
		}
	}
}

// Watch adds the metrics of a database: its queue and its connections. Call it once.
func (m *Metrics) Watch(db *store.Store) { m.collect((&database{db: db}).collect) }

// WatchCertificate adds the expiry of the certificate of the server. Call it once.
func (m *Metrics) WatchCertificate(expires func() time.Time) {
	m.collect(func(now scrape) {
		expiry := 0.0
		if at := expires(); !at.IsZero() {
			expiry = float64(at.Unix())
		}
		now.gaugef(expiry, "studiod_certificate_expiry_timestamp_seconds")
	})
}

// RecordResponse counts a response.
func (m *Metrics) RecordResponse(a server.Response) {
	counted := m.responses.get(response{a.OperationID, a.Status}, m.ofResponse)
	counted.requests.Inc()
	counted.durations.Update(a.Duration.Seconds())
	if a.Status >= http.StatusInternalServerError { // the violations are not of the request
		return
	}
	for i, v := range a.Violations {
		if !slices.ContainsFunc(a.Violations[:i], func(earlier gen.Violation) bool { return earlier.Keyword == v.Keyword }) {
			m.counterf(`studiod_http_requests_refused_total{keyword=%q}`, v.Keyword).Inc()
		}
	}
}

func (m *Metrics) ofResponse(a response) (counted responseMetrics) {
	operation := cmp.Or(a.operation, "none")
	counted.requests = m.counterf(`studiod_http_requests_total{operation=%q,status="%d"}`, operation, a.status)
	counted.durations = m.histogramf([]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		`studiod_http_request_duration_seconds{operation=%q}`, operation)
	return counted
}

// Attempted counts a delivery attempt, with the state of the event after it, for deliver.Config.
func (m *Metrics) Attempted(outcome studio.EventState, made sender.Attempt) {
	m.attempts.get(attempt{outcome, made.Failure}, m.ofAttempt).Inc()
	m.attemptDurations.Update(made.Duration.Seconds())
}

func (m *Metrics) ofAttempt(a attempt) *metrics.Counter {
	return m.counterf(`studiod_delivery_attempts_total{failure=%q,outcome=%q}`, a.failure, a.outcome)
}

// Rendered counts a rendering, for render.Config.
func (m *Metrics) Rendered(kind studio.Kind, outcome render.Outcome, took time.Duration) {
	m.counterf(`studiod_renderings_total{kind=%q,outcome=%q}`, kind, outcome).Inc()
	m.histogramf([]float64{.1, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 900}, `studiod_rendering_duration_seconds{kind=%q}`, kind).
		Update(took.Seconds())
}

// Mailed counts a mail or a try, for mail.Config.
func (m *Metrics) Mailed(outcome mail.Outcome) {
	m.counterf(`studiod_mails_total{outcome=%q}`, outcome).Inc()
}
