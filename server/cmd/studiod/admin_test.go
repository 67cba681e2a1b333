package main

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// operators returns the response of the server for operators at a path.
func (d *daemon) operators(t *testing.T, path string) (status int, body string) {
	t.Helper()
	response, body := get(t, "http://"+d.admin.listener.Addr().String()+path)
	return response.StatusCode, body
}

// metric returns the value of a series as printed, or "" if there is none.
func (d *daemon) metric(t *testing.T, series string) string {
	t.Helper()
	_, body := d.operators(t, "/metrics")
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindStringSubmatch(body)
	if found == nil {
		return ""
	}
	return found[1]
}

func TestDaemon_servesMetricsAndProfiles(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	d := startDaemon(t, func(cfg *daemonConfig) { cfg.Database, cfg.Admin.Addr = dsn, "127.0.0.1:0" })
	in := startInbox(t, d.secret)
	for _, body := range []string{`{"email":"` + testEmail + `","password":"wrong"}`, `{"email":7,"password":8}`} {
		ask(t, http.MethodPost, d.url()+"/users/login", body)
	}
	avatar := try(d.client.CreateAvatar(t.Context(), avatarRequest("Ada", in.url+"?token=canary-query")))(t)
	in.want(t, avatar.AvatarID, avatarEvents(avatar.AvatarID, "processing", "consent_pending", "published"))
	for series, want := range map[string]string{
		`studiod_http_requests_total{operation="createAvatar",status="200"}`: "1",
		`studiod_http_requests_total{operation="login",status="400"}`:        "1",
		`studiod_http_requests_total{operation="login",status="401"}`:        "1",
		`studiod_delivery_attempts_total{failure="",outcome="delivered"}`:    "3",
		`studiod_renderings_total{kind="avatar",outcome="succeeded"}`:        "1",
		`studiod_queue_due{work="rendering"}`:                                "0",
		`studiod_database_up`:                                                "1",
	} {
		harness.Eventually(t, series+" "+want, func() bool { return d.metric(t, series) == want })
	}
	_, metrics := d.operators(t, "/metrics")
	for _, name := range []string{"studiod_database_connections{", "go_goroutines", "process_resident_memory_bytes", "studiod_build_info{"} {
		if !strings.Contains(metrics, "\n"+name) {
			t.Errorf("there is no %s", name)
		}
	}
	for _, private := range []string{in.url, "canary-query", d.user.ID, testEmail, avatar.AvatarID, d.secret.Reveal()} {
		if strings.Contains(metrics, private) {
			t.Errorf("the metrics show %q", private)
		}
	}
	for path, want := range map[string]int{
		"/healthz": http.StatusOK, "/debug/pprof/goroutine?debug=1": http.StatusOK, "/debug/pprof/cmdline": http.StatusNotFound, // which may contain a password
	} {
		if status, body := d.operators(t, path); status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if response, _ := get(t, d.url()+"/metrics"); response.StatusCode != http.StatusNotFound {
		t.Errorf("the public address answers /metrics with %s", response.Status)
	}
}

func TestHealth_asksTheDaemon(t *testing.T) {
	t.Parallel()
	dockerfile := try(os.ReadFile("deploy/Dockerfile"))(t)
	if !strings.Contains(string(dockerfile), `CMD ["studiod", "health"]`) {
		t.Error("the image has no health check")
	}
	d := &daemon{cfg: daemonConfig{Admin: adminConfig{Addr: "0.0.0.0:0"}, Logger: slog.New(slog.DiscardHandler)}}
	check(t, d.openMonitoring(t.Context()))
	_, port, err := net.SplitHostPort(d.admin.listener.Addr().String())
	check(t, err)
	d.store = try(store.Open(t.Context(), studiotest.NewSQLite(t), store.Config{Exclusive: true}))(t)
	for _, step := range []struct {
		do   func()
		addr string
		code int
		says string
	}{
		{func() {}, "0.0.0.0:" + port, exitFailure, "not ready: starting"},
		{func() { d.showAdmin(t.Context()) }, ":" + port, exitOK, "ready"},
		{func() { check(t, d.store.Close()); time.Sleep(databaseInterval) }, ":" + port, exitFailure, "not ready: database unavailable"},
		{d.admin.stopping, ":" + port, exitFailure, "not ready: stopping"},
		{func() { check(t, d.admin.http.Close()) }, "127.0.0.1:" + port, exitFailure, "no daemon responds"},
		{func() {}, "off", exitUsage, "off"},
	} {
		step.do()
		if code, stdout, stderr := studiod(t, "", "health", "--admin-addr", step.addr); code != step.code || !strings.Contains(stdout+stderr, step.says) {
			t.Errorf("%s: exit code %d, %s, %s, want %s", step.addr, code, stdout, stderr, step.says)
		}
	}
}

// A page must not read the metrics by a name that it resolves to this machine (DNS rebinding).
func TestAdmin_rejectsOtherHosts(t *testing.T) {
	t.Parallel()
	d := &daemon{cfg: daemonConfig{Admin: adminConfig{Addr: "localhost:0"}, Logger: slog.New(slog.DiscardHandler)}}
	check(t, d.openMonitoring(t.Context()))
	defer func() { check(t, d.admin.http.Close()) }()
	d.admin.host = "studio.example"
	for host, want := range map[string]int{
		"127.0.0.1:9090": 200, "[::1]:9090": 200, "[::1]": 200, "localhost": 200, "LOCALHOST:9090": 200, "studiod-1:9090": 200, "studio.example:9090": 200,
		"page.example:9090": 421, "page.example": 421, "localhost.page.example": 421, "127.0.0.1.page.example": 421, "page.example.": 421,
	} {
		for _, path := range []string{"/metrics", "/healthz", "/debug/pprof/goroutine"} {
			request, answer := httptest.NewRequest(http.MethodGet, path, nil), httptest.NewRecorder()
			request.Host = host
			if d.admin.http.Handler.ServeHTTP(answer, request); answer.Code != want {
				t.Errorf("%s at %s: %d, want %d", path, host, answer.Code, want)
			}
		}
	}
}

// A log line has no time that means that there is none.
func TestNewLogger_writesTextOnTerminalsOnly(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		logAuto: `"msg":"hello","next":"1970-01-01T00:00:00Z","took_seconds":1.5}`, logText: "msg=hello next=1970-01-01T00:00:00.000Z took=1.5s",
		logJSON: `"msg":"hello","next":"1970-01-01T00:00:00Z","took_seconds":1.5}`,
	} {
		var log strings.Builder
		newLogger(&log, format).Info("hello", "expires", time.Time{}, "next", time.Unix(0, 0).UTC(), "took", 1500*time.Millisecond)
		if !strings.HasSuffix(log.String(), want+"\n") {
			t.Errorf("%s: %s", format, log.String())
		}
	}
}
