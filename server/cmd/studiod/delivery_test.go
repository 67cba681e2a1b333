package main

import (
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// A pause lasts until it is ended. A start warns of it.
func TestDelivery_pausesAndResumes(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	db, in := "--db="+d.cfg.Database, startInbox(t, d.secret)
	must(t, "", "delivery", "pause", db)
	lipsync, err := d.client.CreateLipsync(t.Context(), lipsyncRequest("Hello", in.url))
	check(t, err)
	harness.Eventually(t, "that it is rendered and due", func() bool {
		status := must(t, "", "delivery", "status", db, "--json")
		return strings.Contains(status, `"paused_since":"`) && strings.Contains(status, `"due":1,`)
	})
	d.warnOfPause(t.Context())
	if !strings.Contains(d.log.String(), "deliveries are paused") || len(in.of("")) != 0 {
		t.Errorf("the inbox has %v, and the log %s", in.of(""), d.log)
	}
	must(t, "", "delivery", "resume", db)
	in.want(t, lipsync.InferenceID, inferenceEvent("lipsync_inference_event", lipsync.InferenceID, "succeeded"))
	if said := must(t, "", "delivery", "resume", db); !strings.Contains(said, "not paused") {
		t.Error(said)
	}
	if status := must(t, "", "delivery", "status", db); !strings.Contains(status, "\n-  ") {
		t.Errorf("status: %s", status)
	}
}
