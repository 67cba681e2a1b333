package main

import (
	"encoding/json"
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

// expressions returns the Prometheus queries of the alert rules and the dashboard.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	rules, err := os.ReadFile("deploy/alerts.yml")
	check(t, err)
	content, err := os.ReadFile("deploy/dashboard.json")
	check(t, err)
	var dashboard struct {
		Panels []struct {
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	check(t, json.Unmarshal(content, &dashboard))
	all := map[string]string{"alerts.yml": string(rules)}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			all[panel.Title] += target.Expr + "\n"
		}
	}
	return all
}

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
	for place, text := range expressions(t) {
		for _, name := range regexp.MustCompile(`\b(studiod|process|go)_[a-z_]+\b`).FindAllString(text, -1) {
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
	harness.Need(t, "promtool") // of the package prometheus
	for _, args := range [][]string{{"check", "config", "prometheus.yml"}, {"test", "rules", "alerts_test.yml"}} {
		command := exec.CommandContext(t.Context(), "promtool", args...)
		command.Dir = "deploy"
		if output, err := command.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, output)
		}
	}
}
