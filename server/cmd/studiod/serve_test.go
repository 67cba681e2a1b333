package main

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
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
	p := startProcess(t, dsn, "--renderer=simulate:0s", "--delivery-workers=2", "--receiver-rate=20")
	for range events {
		_, err := p.client.CreateLipsync(t.Context(), lipsyncRequest("Hello", in.url))
		check(t, err)
	}
	<-first
	harness.Eventually(t, "that the others wait", func() bool {
		return len(lines(must(t, "", "event", "list", "--db="+dsn, "--json", "--state=pending"))) == events
	})
	began := time.Now()
	release()
	harness.Eventually(t, "that every event is sent", func() bool { return all.Load() == events })
	if most.Load() != 1 {
		t.Errorf("%d are in flight at once", most.Load())
	}
	// At 20 per second, the burst is a fifth of a second's worth.
	if took, least := time.Since(began), (events-1-5)*time.Second/20; took < least {
		t.Errorf("%d are sent in %v, want at least %v", events, took, least)
	}
}

// The default directory of files is local to one machine, so several daemons need --media.
func TestServe_warnsOfLocalFilesBesideOtherDaemons(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewPostgres(t)
	prepareDatabase(t, dsn)
	first := startProcess(t, dsn)
	check(t, first.AwaitLog("holding lanes"))
	second, chosen := startProcess(t, dsn), startProcess(t, dsn, "--media=file:"+t.TempDir())
	for p, want := range map[*process]bool{first: false, second: true, chosen: false} {
		if warned := strings.Contains(p.Log(), "set --media"); warned != want {
			t.Errorf("warned %t, want %t: %s", warned, want, p.Log())
		}
		check(t, p.Stop())
	}
}

// The backups of a PostgreSQL database lack the database itself.
func TestDaemon_saysWhatBackupsLack(t *testing.T) {
	t.Parallel()
	studiotest.EachDSN(t, func(t *testing.T, dsn string) {
		d := startDaemon(t, func(cfg *daemonConfig) { cfg.Database, cfg.Backup = dsn, "file:"+t.TempDir() })
		if said := strings.Contains(d.log.String(), "back up the database with the tools of PostgreSQL"); said == isSQLite(dsn) {
			t.Errorf("the log is\n%s", d.log)
		}
	})
}

// A URL with 0.0.0.0 or :: leads nowhere.
func TestServe_warnsOfURLsWithoutAHost(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, func(cfg *daemonConfig) { cfg.Addr = "0.0.0.0:0" })
	if url, _ := d.media.URL("uploads/1/file"); !strings.HasPrefix(url, "http://127.0.0.1:") || !strings.Contains(d.log.String(), "set --public-url") {
		t.Errorf("the URL of a file is %s: %s", url, d.log)
	}
}
