package store_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// addDue creates a number of subjects for each user that are due to be rendered since noon. Their IDs begin
// with the ID of the user.
func addDue(t *testing.T, db *store.Store, users map[string]int) {
	t.Helper()
	for user, n := range users {
		if err := db.CreateUser(t.Context(), studio.User{ID: user, Email: user, CreatedAt: noon()}); !errors.Is(err, studio.ErrExists) {
			check(t, err)
		}
		for i := range n {
			added := subject(fmt.Sprintf("%s-%03d", user, i), 0)
			added.UserID, added.RenderAt = user, noon()
			create(t, db, added)
		}
	}
}

// A process that waits for the next rendering also waits for the lease of another process, which may have died.
func TestStore_NextRendering_returnsTheEndOfALease(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		addDue(t, db, map[string]int{"ada": 1})
		before := time.Now().Truncate(time.Millisecond) // as the clock of SQLite
		claim(t, db)
		after := time.Now()
		next := try(db.NextRendering(t.Context(), after))(t)
		if claimed := next.Add(-store.RenderLease); claimed.Before(before) || claimed.After(after) {
			t.Errorf("the next rendering is at %v, want the end of a lease from between %v and %v", next, before, after)
		}
	})
}

func claim(t *testing.T, db *store.Store) (id, user string) {
	t.Helper()
	id = try(db.ClaimRendering(t.Context(), "p", noon()))(t)
	user, _, _ = strings.Cut(id, "-")
	return id, user
}

// endRendering ends a rendering.
func endRendering(t *testing.T, db *store.Store, id string) {
	t.Helper()
	_, err := db.UpdateSubject(t.Context(), id, func(s *studio.Subject) error {
		s.RenderAt = time.Time{}
		return nil
	})
	check(t, err)
}

// A rendering is claimed only when it is due and no other process has a lease on it.
func TestStore_ClaimRendering_waitsForTheLease(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		addDue(t, db, map[string]int{"one": 1})
		check(t, db.HastenRenderings(t.Context(), noon().Add(-time.Minute))) // a retry may be due in a minute
		if id, err := db.ClaimRendering(t.Context(), "p", noon().Add(-time.Microsecond)); id != "" || err != nil {
			t.Errorf("%q is claimed before it is due (%v)", id, err)
		}
		if next, err := db.NextRendering(t.Context(), noon().Add(-time.Second)); !next.Equal(noon()) || err != nil {
			t.Errorf("the next is due at %v (%v)", next, err)
		}
		id, _ := claim(t, db)
		if other, _ := claim(t, db); id == "" || other != "" {
			t.Fatalf("%q is claimed, and %q too", id, other)
		}
		wantHeld := func(want ...string) {
			t.Helper()
			if held, err := db.RenewRenderings(t.Context(), "p", []string{id, "none"}); !slices.Equal(held, want) || err != nil {
				t.Errorf("p has leases on %v, want %v (%v)", held, want, err)
			}
		}
		db.Exec(t, `UPDATE renderings SET leased_until = 1`)
		wantHeld(id)
		if other, err := db.ClaimRendering(t.Context(), "q", noon()); other != "" || err != nil {
			t.Fatalf("after the renewal, %q is claimed (%v)", other, err)
		}
		db.Exec(t, `UPDATE renderings SET leased_until = 1`)
		if other, err := db.ClaimRendering(t.Context(), "q", noon()); other != id || err != nil {
			t.Fatalf("after the lease, %q is claimed (%v)", other, err)
		}
		db.Exec(t, `UPDATE renderings SET leased_until = 1`)
		wantHeld()
		if other, err := db.ClaimRendering(t.Context(), "q", noon()); other != id || err != nil {
			t.Fatalf("p has renewed the lease of q: %q is claimed (%v)", other, err)
		}
		check(t, db.ReleaseRendering(t.Context(), id, "p")) // p has lost the lease
		check(t, db.ReleaseRendering(t.Context(), "another", "q"))
		check(t, db.ReleaseRenderings(t.Context(), "p", nil))
		check(t, db.ReleaseRenderings(t.Context(), "q", []string{id}))
		if other, _ := claim(t, db); other != "" {
			t.Errorf("%q is claimed while q renders it", other)
		}
		check(t, db.ReleaseRendering(t.Context(), id, "q"))
		if other, _ := claim(t, db); other != id {
			t.Error("a released rendering is not claimed")
		}
		endRendering(t, db, id)
		wantHeld()
	})
}

// Concurrent claims get different subjects, and different users while several wait.
func TestStore_ClaimRendering_concurrentClaimsDiffer(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		addDue(t, db, map[string]int{"a": 20, "b": 20, "c": 20, "d": 20})
		ids := make([]string, 12)
		concurrently(repeat(len(ids), func(i int) {
			var err error
			if ids[i], err = db.ClaimRendering(t.Context(), fmt.Sprint(i), noon()); err != nil {
				t.Error(err)
			}
		})...)
		slices.Sort(ids)
		byUser := make(map[string]int)
		for _, id := range ids {
			byUser[id[:1]]++
		}
		if len(slices.Compact(ids)) != 12 || byUser["a"] != 3 || byUser["b"] != 3 || byUser["c"] != 3 || byUser["d"] != 3 {
			t.Errorf("claimed: %v", ids)
		}
	})
}

// One call for several renderings alternates between users like several calls. Those that run count.
func TestStore_ClaimRenderings_alternatesBetweenUsers(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		for _, call := range []struct {
			added map[string]int
			n     int
			want  map[string]int
			more  bool
		}{
			{map[string]int{"many": 20, "some": 3, "one": 1}, 8, map[string]int{"many": 4, "some": 3, "one": 1}, true},
			{map[string]int{"late": 3}, 4, map[string]int{"many": 1, "late": 3}, true},
			{nil, 100, map[string]int{"many": 15}, false},
		} {
			addDue(t, db, call.added)
			claimed, more, err := db.ClaimRenderings(t.Context(), "p", noon(), call.n)
			check(t, err)
			byUser := make(map[string]int)
			for _, s := range claimed {
				user, _, _ := strings.Cut(s.ID, "-")
				byUser[user]++
				if want, err := db.Subject(t.Context(), s.ID); err != nil || !reflect.DeepEqual(s, want) {
					t.Errorf("claimed %+v, want %+v, %v", s, want, err)
				}
			}
			if !maps.Equal(byUser, call.want) || more != call.more {
				t.Errorf("claimed: %v, more are due: %v", byUser, more)
			}
		}
	})
}

// On SQLite a new daemon claims the renderings of a killed one without waiting for the lease.
func TestSQLite_aNewDaemonReleasesRenderingsOfTheLast(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	db := studiotest.Open(t, dsn)
	addDue(t, db, map[string]int{"one": 1})
	id, _ := claim(t, db)
	next := try(store.Open(t.Context(), dsn, store.Config{Exclusive: true}))(t)
	defer func() { check(t, next.Close()) }()
	if again, _ := claim(t, next); again != id {
		t.Errorf("%q is claimed", again)
	}
}
