package soak_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// Workers are killed while they render, and others take over their renderings. Each state of each avatar is
// delivered once.
func TestWorkers_announceEachStateOnceDespiteKills(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it waits for the end of leases")
	d := deploy(t, studiotest.NewPostgres(t))
	r := receive(d, 5, nil)
	p := d.start("--render-workers", "0")
	avatars, kills := 20**scale, *scale
	for i := range avatars {
		try(d.createAvatar(t.Context(), fmt.Sprint(i), r.urls[i%len(r.urls)]))(t)
	}
	r.waitAccepted(avatars) // the first state; no process renders yet
	args := []string{"--render-workers", "3", "--renderer=simulate:500ms"}
	workers := []*harness.Process{d.startWorker(args...), d.startWorker(args...)}
	for kill := range kills {
		r.waitAccepted(avatars + 2*avatars*(kill+1)/(kills+2))
		killed := rand.IntN(len(workers))
		check(t, workers[killed].Kill())
		workers[killed] = d.startWorker(args...)
	}
	r.waitAccepted(3 * avatars)
	for _, worker := range workers {
		check(t, worker.Stop())
		if strings.Contains(worker.Log(), "level=ERROR") {
			t.Error("a worker logged an error")
		}
	}
	check(t, p.Stop())
	r.wantAllDelivered(d, 3*avatars, 0)
}
