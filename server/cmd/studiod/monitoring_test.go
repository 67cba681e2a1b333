package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/render"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// Alerts and the dashboard ask for metrics that a daemon shows.
func TestDeploy_queriesExistingMetrics(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t, "one")
	certFile, keyFile := writeCertificate(t, cert, key)
	d := startDaemon(t, func(cfg *daemonConfig) {
		cfg.Backup = "file:" + t.TempDir()
		cfg.Admin.Addr, cfg.TLSCert, cfg.TLSKey = "127.0.0.1:0", certFile, keyFile
	})
	d.admin.metrics.RecordResponse(server.Response{OperationID: "login", Status: 400, Violations: []gen.Violation{{Keyword: "type"}}})
	d.admin.metrics.Attempted(studio.EventDelivered, sender.Attempt{})
	d.admin.metrics.Rendered(studio.Avatar, render.Succeeded, time.Second)
	_, shown := d.operators(t, "/metrics")
	seen := make(map[string]bool)
	for _, place := range []string{"deploy/alerts.yml", "deploy/dashboard.json"} {
		text := try(os.ReadFile(place))(t)
		for _, name := range regexp.MustCompile(`\b(studiod|process|go)_[a-z_]+\b`).FindAllString(string(text), -1) {
			seen[name] = true
			if !strings.Contains(shown, "\n"+name+"{") && !strings.Contains(shown, "\n"+name+" ") {
				t.Errorf("%s asks for %s, which no daemon shows", place, name)
			}
		}
	}
	if len(seen) < 15 {
		t.Errorf("only %d metrics are asked for", len(seen))
	}
}

func TestDeploy_alertRulesFire(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "promtool takes seconds of CPU time")
	harness.Need(t, "promtool") // of the package prometheus
	for _, args := range [][]string{{"check", "config", "prometheus.yml"}, {"test", "rules", "alerts_test.yml"}} {
		command := exec.CommandContext(t.Context(), "promtool", args...)
		command.Dir = "deploy"
		if output, err := command.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, output)
		}
	}
}
