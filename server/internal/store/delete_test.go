package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func deleteSubject(t *testing.T, db studio.Store, kind studio.Kind, id string, now time.Time) error {
	t.Helper()
	return errorOf(db.DeleteSubject(t.Context(), "ada", "", kind, id, now, now.Add(-studio.DeletionMemory)))
}

func video(id, avatarID string) studio.Subject {
	s := subject(id, 1)
	s.Kind, s.AvatarID = studio.Video, avatarID
	return s
}

// The request of an avatar is erased, together with its videos, and no work is due for them.
func TestStore_DeleteSubject_erasesTheSubjectAndItsVideos(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		create(t, db, subject("a", 2))
		create(t, db, video("v", "a"))
		create(t, db, subject("b", 1))
		finish(t, db, "a", store.Outcome{State: studio.EventDelivered})
		db.Exec(t, `UPDATE subjects SET title = 'Hello', request = '{"title":"Hello"}', project = '{"Tags":{}}', failure_reason = 'Hello', rendering = '{"Video":"a"}', request_id = 'r', trace_parent = 't'`)
		wantError(t, deleteSubject(t, db, studio.Lipsync, "a", noon()), studio.ErrNotFound)
		check(t, deleteSubject(t, db, studio.Avatar, "a", noon()))
		for _, id := range []string{"a", "v"} {
			_, err := db.Subject(t.Context(), id)
			wantError(t, err, studio.ErrNotFound)
			_, err = db.UpdateSubject(t.Context(), id, func(*studio.Subject) error { return nil })
			wantError(t, err, studio.ErrNotFound)
			_, err = db.NextDelivery(t.Context(), id)
			wantError(t, err, studio.ErrNotFound)
		}
		for _, left := range db.Texts(t, `SELECT COALESCE(title, '') || request || project || failure_reason || rendering || request_id || trace_parent FROM subjects WHERE id <> 'b'`) {
			if left != "{}{}{}" {
				t.Errorf("of a deleted subject, %s is left", left)
			}
		}
		if states := db.Texts(t, `SELECT state FROM events WHERE subject_id = 'a' ORDER BY sequence`); !slices.Equal(states, []string{"delivered", "exhausted"}) {
			t.Errorf("the events of a deleted subject are %v", states)
		}
		for _, work := range []string{store.RenderAt, store.DeliverAt} {
			due := db.NextDue(t, work)
			if len(due) != 1 || due[0].SubjectID != "b" {
				t.Errorf("%s is due for %+v, want b alone", work, due)
			}
		}
		finish(t, db, "b", store.Outcome{State: studio.EventDelivered})
		ended := studio.ReplaySelection{States: []studio.EventState{studio.EventExhausted, studio.EventDelivered}}
		if replayed := replay(t, db, ended, noon().Add(time.Hour)); replayed != 1 {
			t.Errorf("%d events are replayed, want that of b", replayed)
		}
		wantError(t, createError(t, db, video("w", "a")), studio.ErrNotFound)
	})
}

func createError(t *testing.T, db studio.Store, s studio.Subject) error {
	t.Helper()
	return errorOf(db.CreateSubject(t.Context(), s, studio.IdempotencyKey{}))
}

// deleteUser removes a user and erases what they have, as the service does.
func deleteUser(t *testing.T, db *store.Store, id string, now time.Time) error {
	t.Helper()
	err := db.RemoveUser(t.Context(), id, now)
	for more := true; more && err == nil; {
		var erased studio.Erased
		erased, err = db.NextBatch(t.Context(), id, now)
		more = erased.More
	}
	return err
}

// A repeated creation returns a subject that was deleted since, and does not restore it.
func TestStore_DeleteSubject_isIdempotentForADay(t *testing.T) {
	t.Parallel()
	withUserInEachStore(t, func(t *testing.T, db studio.Store) {
		key := studio.IdempotencyKey{Key: "key", Fingerprint: []byte("f"), After: noon().Add(-time.Hour)}
		try(db.CreateSubject(t.Context(), subject("a", 1), key))(t)
		create(t, db, video("v", "a"))
		create(t, db, subject("b", 1))
		for _, after := range []time.Duration{0, studio.DeletionMemory - time.Second} {
			erased, err := db.DeleteSubject(t.Context(), "ada", "", studio.Avatar, "a", noon().Add(after), noon().Add(after-studio.DeletionMemory))
			slices.Sort(erased.IDs) // whose files are erased
			if check(t, err); !slices.Equal(erased.IDs, []string{"a", "v"}) {
				t.Errorf("after %v, a deletion is of %v", after, erased.IDs)
			}
			if again := try(db.CreateSubject(t.Context(), subject("c", 0), key))(t); again.ID != "a" {
				t.Errorf("the repeated creation made %s", again.ID)
			}
			_, err = db.Subject(t.Context(), "a")
			wantError(t, err, studio.ErrNotFound)
		}
		wantError(t, deleteSubject(t, db, studio.Avatar, "a", noon().Add(studio.DeletionMemory)), studio.ErrNotFound)
	})
}

// An attempt in flight during the deletion is recorded and not retried.
func TestStore_DeleteSubject_duringAnAttemptMakesNothingDue(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		create(t, db, subject("a", 2))
		next := nextDelivery(t, db, "a")
		check(t, deleteSubject(t, db, studio.Avatar, "a", noon()))
		check(t, recordAttempt(t.Context(), db, next.Event, studio.Attempt{At: noon(), Status: 500},
			store.Outcome{State: studio.EventPending, RetryAt: noon().Add(time.Minute)}))
		due := db.NextDue(t, store.DeliverAt)
		attempts := attemptsOf(t, db, next.Event.ID)
		if len(due) != 0 || len(attempts) != 1 {
			t.Errorf("due is %+v after %d attempts", due, len(attempts))
		}
	})
}

// A video that is created while its avatar is deleted is deleted, too, or not created.
func TestStore_DeleteSubject_leavesNoConcurrentVideo(t *testing.T) {
	t.Parallel()
	withUserInEachStore(t, func(t *testing.T, db studio.Store) {
		for round := range rounds {
			avatar := fmt.Sprintf("a%d", round)
			create(t, db, subject(avatar, 0))
			concurrently(append(repeat(4, func(i int) {
				if err := createError(t, db, video(fmt.Sprintf("%s-%d", avatar, i), avatar)); err != nil {
					wantError(t, err, studio.ErrNotFound)
				}
			}), func() { check(t, deleteSubject(t, db, studio.Avatar, avatar, noon())) })...)
		}
		left, _, err := db.Subjects(t.Context(), studio.SubjectFilter{UserID: "ada", Kind: studio.Video}, studio.Position{}, 10)
		check(t, err)
		if len(left) > 0 {
			t.Errorf("%d videos of deleted avatars", len(left))
		}
	})
}

// The rows of deleted subjects are pruned when no other row refers to them.
func TestStore_Prune_deletesErasedSubjects(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		create(t, db, subject("a", 1))
		create(t, db, video("v", "a"))
		check(t, deleteSubject(t, db, studio.Avatar, "a", noon()))
		check(t, db.Prune(t.Context(), noon().Add(studio.Retention)))
		wantError(t, createError(t, db, subject("a", 0)), studio.ErrExists)
		for range 2 { // the first call prunes the video
			check(t, db.Prune(t.Context(), noon().Add(studio.Retention+time.Second)))
		}
		check(t, createError(t, db, subject("a", 0)))
	})
}
