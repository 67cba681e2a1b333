package soak_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// PostgreSQL keeps the plans of a connection, and what it knows of the tables may be of a time when they
// were empty, or full of other rows. Neither delays what comes in large numbers.
func TestBacklog_ofWhichTheServerKnowsNothingIsDeliveredAtOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("not in the short form: it starts a cluster of its own")
	}
	cluster := startCluster(t, "autovacuum=off", "fsync=off")
	d := deploy(t, studiotest.NewSchema(t, cluster.DSN))
	const receivers, warm, patience = 128, 20, 60 * time.Second
	r := receive(d, receivers, func(arrival) int { return http.StatusNoContent })
	lines := make([]store.Flow, receivers)
	for i, url := range r.urls {
		lines[i] = store.Flow{UserID: d.userID, Origin: studio.Origin(url)}
	}
	p := d.start()
	db, admin := studiotest.Open(t, d.dsn), studiotest.OpenSQL(t, d.dsn)
	all := 0
	deliver := func(what string, events int, urls ...string) {
		t.Helper()
		d.seed(events, 1, urls...)
		all += events * len(urls)
		began := time.Now()
		check(t, db.NotifyDue(t.Context(), lines))
		r.waitAccepted(all)
		took := time.Since(began)
		t.Logf("%s: %d events in %v", what, events*len(urls), took)
		if took > patience {
			t.Errorf("%s: %d events took %v", what, events*len(urls), took)
		}
	}
	for range warm { // plans are kept from the sixth time on
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
	p.stop()
	if p.logged("level=ERROR") {
		t.Error("the daemon reports an error")
	}
}
