package soak_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// PostgreSQL caches query plans in each connection, and its statistics may be from a time when the tables were empty
// or had other rows. Neither slows down the delivery of many events.
func TestBacklog_isDeliveredDespiteStaleStatistics(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it starts a cluster of its own")
	cluster := studiotest.NewCluster(t, "autovacuum=off", "fsync=off")
	d := deploy(t, studiotest.NewSchema(t, cluster.DSN))
	const receivers, warmUps, maxDuration = 128, 20, 60 * time.Second
	r := receive(d, receivers, func(arrival) int { return http.StatusNoContent })
	flows := make([]store.Flow, receivers)
	for i, url := range r.urls {
		flows[i] = store.Flow{UserID: d.userID, Origin: studio.Origin(url)}
	}
	p := d.start()
	db, admin := studiotest.Open(t, d.dsn), studiotest.OpenSQL(t, d.dsn)
	all := 0
	deliver := func(what string, events int, urls ...string) {
		t.Helper()
		d.seed(events, 1, urls...)
		all += events * len(urls)
		began := time.Now()
		check(t, db.NotifyDue(t.Context(), flows))
		r.waitAccepted(all)
		took := time.Since(began)
		t.Logf("%s: %d events in %v", what, events*len(urls), took)
		if took > maxDuration {
			t.Errorf("%s: %d events took %v", what, events*len(urls), took)
		}
	}
	for range warmUps { // a plan may be cached from the sixth execution on
		deliver("one after the other", 1, r.urls[0])
	}
	events := 16 * *scale
	deliver("after empty tables", events, r.urls...)
	for _, statement := range []string{"ANALYZE", "DELETE FROM attempts", "DELETE FROM events", "DELETE FROM subjects"} {
		_, err := admin.ExecContext(t.Context(), statement)
		check(t, err)
	}
	deliver("after a deletion", events, r.urls...)
	_, err := admin.ExecContext(t.Context(), "ANALYZE")
	check(t, err)
	deliver("after everything was delivered", events, r.urls...)
	check(t, p.Stop())
	if strings.Contains(p.Log(), "level=ERROR") {
		t.Error("the daemon logged an error")
	}
}
