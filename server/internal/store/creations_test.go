package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
		try(db.DeleteSubject(t.Context(), "ada", "", studio.Avatar, "deleted", noon(), noon()))(t)
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
		due := db.NextDue(t, store.RenderAt)
		if len(due) != created+1 {
			t.Errorf("%d subjects are to be rendered, want %d", len(due), created+1)
		}
		wantConsistent(t, db)
	})
}

// Concurrent creations with one idempotency key all return the same subject, immediately or after a retry. A different
// request with the key fails.
func TestStore_CreateSubject_returnsOneSubjectForAKey(t *testing.T) {
	t.Parallel()
	withUserInEachStore(t, func(t *testing.T, db studio.Store) {
		for round := range rounds {
			var ids [16]string
			concurrently(repeat(len(ids), func(i int) {
				key := studio.IdempotencyKey{Key: fmt.Sprint(round), Fingerprint: []byte{byte(i % 2)}, After: noon().Add(-1)}
				s, err := db.CreateSubject(t.Context(), subject(fmt.Sprintf("%d-%d", round, i), 1), key)
				for errors.Is(err, studio.ErrKeyInUse) {
					s, err = db.CreateSubject(t.Context(), subject(fmt.Sprintf("%d-%d", round, i), 1), key)
				}
				if ids[i] = s.ID; err != nil {
					ids[i] = ""
					wantError(t, err, studio.ErrKeyReused)
				}
			})...)
			if slices.Sort(ids[:]); ids[7] != "" || ids[8] == "" || ids[8] != ids[15] {
				t.Errorf("half of the calls must return one subject, got %v", ids)
			}
		}
		all, _, err := db.Subjects(t.Context(), studio.SubjectFilter{UserID: "ada", Kind: studio.Avatar}, studio.Position{}, 100)
		check(t, err)
		if len(all) != rounds {
			t.Errorf("%d subjects are created with %d keys", len(all), rounds)
		}
	})
}
