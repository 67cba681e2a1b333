package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// A creation that fails in a group commit does not affect the other creations of the group.
func TestStore_CreateSubject_failsAloneInAGroup(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		create(t, db, subject("there", 1))
		create(t, db, subject("deleted", 0))
		_, err := db.DeleteSubject(t.Context(), "ada", studio.Avatar, "deleted", noon(), noon())
		check(t, err)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		const total = 200
		concurrently(repeat(total, func(i int) {
			s, ctx, want := subject(fmt.Sprint(i), i%3), context.WithoutCancel(ended), error(nil)
			switch i % 10 {
			case 1:
				ctx, want = ended, context.Canceled
			case 2:
				s.UserID, want = "nobody", studio.ErrNotFound
			case 3:
				s.ID, s.Events, want = "there", nil, studio.ErrExists
			case 4:
				s.Kind, s.AvatarID = studio.Video, "there"
			case 5:
				s.Kind, s.AvatarID, want = studio.Video, "deleted", studio.ErrNotFound
			}
			_, err := db.CreateSubject(ctx, s, studio.IdempotencyKey{Key: fmt.Sprint(i), Fingerprint: []byte("a"), After: noon().Add(-1)})
			if !errors.Is(err, want) {
				t.Errorf("the %d. creation ends with %v, want %v", i, err, want)
			}
		})...)
		created := 0
		for i := range total {
			_, err := db.Subject(t.Context(), fmt.Sprint(i))
			if made := err == nil; made != (i%10 == 0 || i%10 == 4 || i%10 > 5) {
				t.Errorf("the %d. subject is there: %v", i, made)
			} else if made {
				created++
			}
		}
		due, err := db.NextDue(t.Context(), store.Render, 2*total)
		check(t, err)
		if len(due) != created+1 {
			t.Errorf("%d subjects are to be rendered, want %d", len(due), created+1)
		}
		wantConsistent(t, db)
	})
}

// Concurrent creations with one idempotency key create one subject. A different request with the key fails.
func TestStore_CreateSubject_createsOneForAKeyUsedConcurrently(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		for round := range rounds {
			var made sync.Map
			concurrently(repeat(16, func(i int) {
				key := studio.IdempotencyKey{Key: fmt.Sprint(round), Fingerprint: []byte{byte(i % 2)}, After: noon().Add(-1)}
				s, err := db.CreateSubject(t.Context(), subject(fmt.Sprintf("%d-%d", round, i), 1), key)
				if err == nil {
					made.Store(s.ID, i%2)
				} else if !errors.Is(err, studio.ErrKeyReused) && !errors.Is(err, studio.ErrKeyInUse) {
					t.Errorf("error %v", err)
				}
			})...)
			n := 0
			made.Range(func(any, any) bool { n++; return true })
			if n != 1 {
				t.Errorf("%d subjects are created with one key", n)
			}
		}
		wantConsistent(t, db)
	})
}
