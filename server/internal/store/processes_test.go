package store_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// Daemons are listed until they end, with what they render, and for how many lanes they deliver.
func TestStore_listsActiveProcesses(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		check(t, db.CreateUser(t.Context(), studio.User{ID: "ada", Email: "ada", CreatedAt: noon()}))
		for i := range 3 {
			s := subject(fmt.Sprint(i), 0)
			s.UserID, s.RenderAt = "ada", noon()
			create(t, db, s)
		}
		_, _, err := db.ClaimRenderings(t.Context(), "one", noon(), 2)
		check(t, err)
		for i, id := range []string{"one", "two", "one", "ended"} {
			check(t, db.SeeDaemon(t.Context(), store.Daemon{ID: id, Host: "host", Version: fmt.Sprint("v", i), Started: noon().Add(time.Duration(i))}))
		}
		check(t, db.RemoveDaemon(t.Context(), "ended"))
		daemons := try(db.Daemons(t.Context()))(t)
		for i := range daemons {
			if daemons[i].Seen > time.Hour {
				t.Errorf("last seen %v ago", daemons[i].Seen)
			}
			daemons[i].Seen = 0
		}
		if want := []store.Daemon{{ID: "one", Host: "host", Version: "v0", Started: noon(), Renderings: 2}, {ID: "two", Host: "host", Version: "v1", Started: noon()}}; !slices.Equal(daemons, want) {
			t.Errorf("the daemons are %+v", daemons)
		}
		check(t, db.Prune(t.Context(), time.Now().Add(25*time.Hour)))
		if daemons, err = db.Daemons(t.Context()); err != nil || len(daemons) != 0 {
			t.Errorf("after a day, the daemons are %+v, %v", daemons, err)
		}
		for i := range 3 {
			check(t, db.SaveBreaker(t.Context(), store.Breaker{Origin: fmt.Sprint("https://", i), Until: time.Now().Add(time.Hour * time.Duration(2*i-1))}))
		}
		open := try(db.OpenBreakers(t.Context(), "https://1", 5))(t)
		if len(open) != 1 || open[0].Origin != "https://2" {
			t.Errorf("the breakers are %+v", open)
		}
		if all, err := db.OpenBreakers(t.Context(), "", 5); err != nil || len(all) != 2 {
			t.Errorf("the breakers are %+v, %v", all, err)
		}
		if !db.Shared() {
			return
		}
		holder := db.NewLeaseHolder()
		try(holder.Renew(t.Context(), false))(t)
		check(t, db.SeeDaemon(t.Context(), store.Daemon{ID: db.ProcessID(), Started: noon()}))
		if daemons = try(db.Daemons(t.Context()))(t); len(daemons) != 1 || daemons[0].Lanes != store.Lanes {
			t.Errorf("the daemons are %+v", daemons)
		}
		check(t, holder.ReleaseAll(t.Context()))
	})
}

// A process takes the lanes of a process on the same machine that has ended, and waits for the lease of another one.
// What the process without lanes records is refused.
func TestLeaseHolder_Renew_takesTheLanesOfAProcessThatHasEnded(t *testing.T) {
	t.Parallel()
	db := studiotest.Open(t, studiotest.NewPostgres(t))
	first, second := db.NewLeaseHolder(), db.NewLeaseHolder()
	try(first.Renew(t.Context(), false))(t)
	waiting := try(second.Renew(t.Context(), false))(t)
	if len(waiting.Lanes) != 0 || len(waiting.Others) != 1 {
		t.Errorf("%d lanes are taken from a process that runs", len(waiting.Lanes))
	}
	check(t, first.EndProcess())
	holding := try(second.Renew(t.Context(), false))(t)
	if len(holding.Lanes) != store.Lanes || len(holding.Others) != 0 {
		t.Errorf("%d lanes are taken from the process that has ended", len(holding.Lanes))
	}
	_, err := first.Renew(t.Context(), false)
	wantError(t, err, store.ErrLeaseLost)
	check(t, db.CreateUser(t.Context(), user("ada")))
	create(t, db, subject("a", 1))
	event := nextDelivery(t, db, "a").Event
	_, err = db.SaveAttempt(t.Context(), first.ID, store.MadeAttempt{
		Event: event, Attempt: studio.Attempt{At: noon()}, Outcome: store.Outcome{State: studio.EventDelivered},
	})
	wantError(t, err, store.ErrLeaseLost)
	if attempts := attemptsOf(t, db, event.ID); len(attempts) != 0 || nextDelivery(t, db, "a").Event.ID != event.ID {
		t.Errorf("a process without lanes has recorded %+v", attempts)
	}
	check(t, errors.Join(first.Close(t.Context()), second.ReleaseAll(t.Context())))
}
