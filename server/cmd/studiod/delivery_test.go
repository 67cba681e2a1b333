package main

import (
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// A pause holds for all daemons, also for one that starts during it.
func TestDelivery_pauseHoldsForAllDaemons(t *testing.T) {
	t.Parallel()
	studiotest.EachDSN(t, func(t *testing.T, dsn string) {
		secret, db := prepareDatabase(t, dsn), "--db="+dsn
		var inboxes []*inbox // each has lanes of its own
		for range 4 {
			inboxes = append(inboxes, startInbox(t, secret, nil))
		}
		daemons := []*process{startProcess(t, dsn, "--renderer=simulate:0s")}
		if !isSQLite(dsn) {
			daemons = append(daemons, startProcess(t, dsn, "--renderer=simulate:0s"))
			for _, p := range daemons {
				check(t, p.AwaitLog("lanes=128"))
			}
		}
		must(t, "", "delivery", "pause", db)
		created := make(map[string]*inbox)
		for i, in := range append(inboxes, inboxes...) {
			lipsync, err := daemons[i%len(daemons)].client.CreateLipsync(t.Context(), lipsyncRequest("Hello", in.url))
			check(t, err)
			created[lipsync.InferenceID] = in
		}
		pending := func() int { return len(lines(must(t, "", "event", "list", db, "--json", "--state=pending"))) }
		harness.Eventually(t, "that all are rendered", func() bool { return pending() == len(created) })
		check(t, daemons[0].Stop())
		daemons[0] = startProcess(t, dsn)
		if !strings.Contains(daemons[0].Log(), "deliveries are paused") {
			t.Error("a start does not say that deliveries are paused")
		}
		time.Sleep(2 * time.Second) // more than a pause needs to take effect
		if status := must(t, "", "delivery", "status", db, "--json"); !strings.Contains(status, `"paused_since":"`) || !strings.Contains(status, `"due":8,`) {
			t.Errorf("status: %s", status)
		}
		if n := pending(); n != len(created) {
			t.Errorf("%d events are pending, want %d", n, len(created))
		}
		must(t, "", "delivery", "resume", db)
		for id, in := range created {
			in.want(t, id, inferenceEvent("lipsync_inference_event", id, "succeeded"))
		}
		if said := must(t, "", "delivery", "resume", db); !strings.Contains(said, "not paused") {
			t.Error(said)
		}
		if status := must(t, "", "delivery", "status", db); !strings.Contains(status, "\n-  ") {
			t.Errorf("status: %s", status)
		}
		for _, p := range daemons {
			check(t, p.Stop())
		}
	})
}
