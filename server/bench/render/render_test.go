package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestRun_reportsAllRows(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("%v: install the Debian package ffmpeg", err)
	}
	var report, progress bytes.Buffer
	if err := run(t.Context(), []string{"-short"}, &report, &progress); err != nil {
		t.Fatalf("%v: %s", err, progress.String())
	}
	if !strings.Contains(report.String(), "| lip-sync of the clip |") || !strings.Contains(report.String(), "| 32 MiB |") ||
		strings.Contains(report.String(), "NaN") {
		t.Error(report.String())
	}
}
