package store_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// A creation that gets a worker claims its rendering. The others are announced.
func TestStore_ClaimCreations_claimsInTheTransaction(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		var begun []*studio.Subject
		free := true
		stop := db.ClaimCreations("p", func(string) func(*studio.Subject) {
			if !free {
				return nil
			}
			free = false
			return func(s *studio.Subject) { begun = append(begun, s) }
		})
		wantDue := func(want bool) {
			t.Helper()
			select {
			case <-db.RenderDue():
				if !want {
					t.Error("a claimed rendering is announced as due")
				}
			default:
				if want {
					t.Error("a rendering is not announced")
				}
			}
		}
		create(t, db, subject("a", 1))
		if len(begun) != 1 || begun[0].ID != "a" || !begun[0].Started {
			t.Fatalf("begun: %+v", begun)
		}
		wantDue(false)
		if id, err := db.ClaimRendering(t.Context(), "q", noon()); id != "" || err != nil {
			t.Errorf("%q is claimed twice (%v)", id, err)
		}
		if held, err := db.HeldRenderings(t.Context(), "p", []string{"a"}); len(held) != 1 || err != nil {
			t.Errorf("leases on %v (%v)", held, err)
		}
		create(t, db, subject("b", 1))
		wantDue(true)
		free = true
		stop()
		create(t, db, subject("c", 1))
		wantDue(true)
		for range 2 {
			if id, err := db.ClaimRendering(t.Context(), "q", noon()); id == "" || id == "a" || err != nil {
				t.Errorf("%q is claimed (%v)", id, err)
			}
		}
		db.Exec(t, `UPDATE renderings SET leased_until = 1`)
		if id, err := db.ClaimRendering(t.Context(), "q", noon()); id == "" || err != nil {
			t.Errorf("nothing is claimed after the leases (%v)", err)
		}
	})
}

// However a creation ends, its worker is told once: to begin if the subject was created, and else that it is free.
func TestStore_ClaimCreations_endsEachReservation(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		create(t, db, subject("there", 0))
		var reserved, freed atomic.Int64
		var begun sync.Map
		defer db.ClaimCreations("p", func(string) func(*studio.Subject) {
			if reserved.Add(1)%3 == 0 {
				return nil
			}
			return func(s *studio.Subject) {
				if s == nil {
					freed.Add(1)
				} else if _, twice := begun.LoadOrStore(s.ID, true); twice {
					t.Errorf("%s begins twice", s.ID)
				}
			}
		})()
		const total = 200
		concurrently(repeat(total, func(i int) {
			s := subject(fmt.Sprint(i), i%3)
			key := studio.IdempotencyKey{Key: fmt.Sprint(i / 2), Fingerprint: []byte("a"), After: noon().Add(-1)}
			switch i % 10 {
			case 2:
				s.UserID = "nobody"
			case 3:
				s.ID, s.Events = "there", nil
			case 4:
				s.WorkspaceID = "another"
			}
			_, _ = db.CreateSubject(t.Context(), s, key)
		})...)
		refused, started := reserved.Load()/3, int64(0)
		for i := range total {
			id := fmt.Sprint(i)
			held, err := db.HeldRenderings(t.Context(), "p", []string{id})
			check(t, err)
			if _, begins := begun.Load(id); begins != (len(held) == 1) {
				t.Errorf("%s begins: %v; it is claimed: %v", id, begins, held)
			} else if begins {
				started++
			}
		}
		if started == 0 || freed.Load() == 0 || started+freed.Load() != reserved.Load()-refused {
			t.Errorf("of %d reservations, %d began and %d were freed", reserved.Load()-refused, started, freed.Load())
		}
		wantConsistent(t, db)
	})
}
