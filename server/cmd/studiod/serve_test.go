package main

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

func TestServe_appliesReceiverLimits(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	prepareDatabase(t, dsn)
	const events = 20
	var inFlight, most, all atomic.Int64
	first, released := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(released) })
	in := startInbox(t, webhook.Secret{}, func(w http.ResponseWriter, _ string) bool {
		most.Store(max(most.Load(), inFlight.Add(1)))
		if all.Add(1) == 1 {
			close(first)
			<-released
		}
		inFlight.Add(-1)
		w.WriteHeader(http.StatusNoContent)
		return true
	})
	t.Cleanup(release) // otherwise the inbox would not close after a failure
	p := startProcess(t, dsn, "--render-time=0s", "--workers=2", "--receiver-in-flight=1", "--receiver-rate=20")
	for range events {
		_, err := p.client.CreateLipsync(t.Context(), lipsyncRequest("Hello", in.url))
		check(t, err)
	}
	<-first
	eventually(t, "that the others wait", func() bool {
		return len(lines(must(t, "", "event", "list", "--db="+dsn, "--json", "--state=pending"))) == events
	})
	began := time.Now()
	release()
	eventually(t, "that every event is sent", func() bool { return all.Load() == events })
	if most.Load() != 1 {
		t.Errorf("%d are in flight at once", most.Load())
	}
	// At 20 per second, the burst is a fifth of a second's worth.
	if took, least := time.Since(began), (events-1-5)*time.Second/20; took < least {
		t.Errorf("%d are sent in %v, want at least %v", events, took, least)
	}
}

// A media directory is local to one machine, so daemons that share a database need a bucket.
func TestServe_warnsOfMediaDirectoryWithPostgreSQL(t *testing.T) {
	t.Parallel()
	studiotest.EachDSN(t, func(t *testing.T, dsn string) {
		d := startDaemon(t, func(cfg *daemonConfig) { cfg.Database, cfg.Media = dsn, "file:"+t.TempDir() })
		if warned, want := strings.Contains(d.log.String(), "files are stored in a directory"), !isSQLite(dsn); warned != want {
			t.Errorf("warned %t, want %t: %s", warned, want, d.log)
		}
	})
}
