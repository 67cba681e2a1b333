package metrics_test

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/mail"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/metrics"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

var check = harness.Check

func try[T any](result T, err error) func(t testing.TB) T { return harness.Try(result, err) }

func want(t *testing.T, m *metrics.Metrics, lines ...string) {
	t.Helper()
	response := httptest.NewRecorder()
	m.Handler().ServeHTTP(response, httptest.NewRequest("GET", "/metrics", nil))
	shown := response.Body.String()
	if unexplained := regexp.MustCompile(`(?m)^# HELP studiod_\w+$`).FindString(shown); unexplained != "" {
		t.Errorf("there is no text in %q", unexplained)
	}
	for _, line := range lines {
		if !strings.Contains(shown, "\n"+line+"\n") {
			name, _, _ := strings.Cut(line, "{")
			t.Errorf("%s is not shown, but", line)
			for other := range strings.Lines(shown) {
				if strings.HasPrefix(other, name) {
					t.Log(other)
				}
			}
		}
	}
}

// Each keyword counts once for a request.
func TestMetrics_countsWhatIsReported(t *testing.T) {
	t.Parallel()
	m := metrics.New("v1")
	violations := []gen.Violation{{Keyword: "type", Pointer: "/a"}, {Keyword: "required"}, {Keyword: "type", Pointer: "/b"}}
	m.RecordResponse(server.Response{OperationID: "createAvatar", Status: 400, Duration: 2 * time.Millisecond, Violations: violations})
	m.RecordResponse(server.Response{OperationID: "createAvatar", Status: 500, Violations: violations}) // violations of the response
	m.RecordResponse(server.Response{Status: 404})
	m.Mailed(mail.Failed)
	want(
		t, m,
		`studiod_http_requests_total{operation="createAvatar",status="400"} 1`,
		`studiod_http_requests_total{operation="none",status="404"} 1`,
		`studiod_http_request_duration_seconds_bucket{operation="createAvatar",le="0.001"} 1`,
		`studiod_http_request_duration_seconds_bucket{operation="createAvatar",le="0.0025"} 2`,
		`studiod_http_requests_refused_total{keyword="type"} 1`,
		`studiod_http_requests_refused_total{keyword="required"} 1`,
		`studiod_mails_total{outcome="failed"} 1`, `studiod_mails_total{outcome="dropped"} 0`,
		`studiod_delivery_attempts_total{failure="connect",outcome="exhausted"} 0`, // alerts see the first one
	)
}

func TestMetrics_reportTheQueue(t *testing.T) {
	t.Parallel()
	studiotest.EachDSN(t, func(t *testing.T, dsn string) {
		m := metrics.New("v1")
		db := try(store.Open(t.Context(), dsn, store.Config{}))(t)
		// Two subjects have been due for more than an hour, one of them is being rendered, and one is
		// retried later.
		service := studio.New(studiotest.Config(db, func() time.Time { return time.Now().Add(-time.Hour) }))
		user := studiotest.AddUser(t, service, "ada@example.com")
		for range 2 {
			try(service.CreateLipsync(t.Context(), studio.Creation{UserID: user.ID, Request: []byte("{}")}))(t)
		}
		later := studio.New(studiotest.Config(db, func() time.Time { return time.Now().Add(time.Hour) }))
		retried := try(later.CreateLipsync(t.Context(), studio.Creation{UserID: user.ID, Request: []byte("{}")}))(t)
		try(later.Rendered(t.Context(), retried.ID, studio.Rendering{}, &studio.RenderError{Retry: true}))(t)
		claimed, _, err := db.ClaimRenderings(t.Context(), "process", time.Now(), 1)
		check(t, err)
		if len(claimed) != 1 {
			t.Errorf("%v are rendered", claimed)
		}
		paused := studiotest.AddUser(t, service, "bob@example.com")
		const hook = "https://hooks.example.com/"
		for _, id := range []string{user.ID, paused.ID} {
			due := try(service.CreateAvatar(t.Context(), studio.Creation{UserID: id, Request: []byte("{}"), Webhook: studio.Registration{URL: hook, Enabled: true}}))(t)
			try(service.Rendered(t.Context(), due.ID, studio.Rendering{}, nil))(t)
		}
		check(t, db.PauseEndpoint(t.Context(), paused.ID, hook, time.Now()))
		try(db.Pause(t.Context(), time.Now()))(t)
		check(t, db.SaveBreaker(t.Context(), store.Breaker{Origin: "https://a.example.com", Until: time.Now().Add(time.Hour)}))
		check(t, db.SaveBreaker(t.Context(), store.Breaker{Origin: "https://b.example.com", Until: time.Now().Add(-time.Hour)}))

		m.Watch(db)
		want(t, m, `studiod_database_up 1`, `studiod_queue_due{work="rendering"} 1`, `studiod_queue_due{work="delivery"} 1`, `studiod_breakers_open 1`, `studiod_deliveries_paused 1`)
		status := try(db.Status(t.Context()))(t)
		for work, oldest := range map[string]time.Duration{"rendering": status.Rendering.Oldest, "delivery": status.Delivery.Oldest} {
			if oldest < time.Hour || oldest > time.Hour+10*time.Minute {
				t.Errorf("the oldest %s is due for %v", work, oldest)
			}
		}
		check(t, db.Close())
		m = metrics.New("v1")
		m.Watch(db)
		want(t, m, `studiod_database_up 0`)
	})
}

func TestMetrics_RecordResponse_allocatesNothing(t *testing.T) {
	m := metrics.New("v1")
	response := server.Response{OperationID: "createLipsync", Status: 200, Duration: time.Millisecond}
	if n := testing.AllocsPerRun(100, func() { m.RecordResponse(response) }); n > 0 {
		t.Errorf("counting a request takes %v allocations", n)
	}
}
