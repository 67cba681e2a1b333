package store_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// BenchmarkCreateSubject measures the creation of a subject with its first event: by one caller, by one caller
// with an idempotency key, and by concurrent callers, with and without a workspace.
func BenchmarkCreateSubject(b *testing.B) {
	for name, create := range studiotest.Databases() {
		b.Run(name, func(b *testing.B) {
			db := studiotest.Open(b, create(b))
			check(b, db.CreateUser(b.Context(), user("ada")))
			check(b, db.CreateWorkspace(b.Context(), studio.Workspace{ID: "films", CreatedAt: noon()}))
			check(b, db.AddMember(b.Context(), "films", "ada"))
			one := func(b *testing.B, keyed bool, workspace string) {
				id := uuid.NewString()
				key := studio.IdempotencyKey{}
				if keyed {
					key = studio.IdempotencyKey{Key: id, Fingerprint: []byte("same"), After: noon()}
				}
				created := subject(id, 1)
				created.WorkspaceID = workspace
				if _, err := db.CreateSubject(b.Context(), created, key); err != nil {
					b.Error(err)
				}
			}
			b.Run("one", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					one(b, false, "")
				}
			})
			b.Run("keyed", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					one(b, true, "")
				}
			})
			for name, workspace := range map[string]string{"many": "", "manyInWorkspace": "films"} {
				b.Run(name, func(b *testing.B) {
					b.ReportAllocs()
					b.SetParallelism(8) // callers for each processor
					b.RunParallel(func(pb *testing.PB) {
						for pb.Next() {
							one(b, false, workspace)
						}
					})
				})
			}
		})
	}
}

// BenchmarkDeliver measures an update that adds an event to a subject, and the record of its delivery: by one caller,
// and by concurrent callers with a subject each.
func BenchmarkDeliver(b *testing.B) {
	for name, create := range studiotest.Databases() {
		b.Run(name, func(b *testing.B) {
			db := studiotest.Open(b, create(b))
			check(b, db.CreateUser(b.Context(), user("ada")))
			start := func(b *testing.B) (one func()) {
				id := uuid.NewString()
				if _, err := db.CreateSubject(b.Context(), subject(id, 0), studio.IdempotencyKey{}); err != nil {
					b.Fatal(err)
				}
				return func() {
					event := studio.Event{ID: uuid.NewString(), SubjectID: id, Body: []byte(`{}`), CreatedAt: noon()}
					_, err := db.UpdateSubject(b.Context(), id, func(s *studio.Subject) error {
						s.Sequence++
						event.Sequence = s.Sequence
						s.Events = []studio.Event{event}
						return nil
					})
					if err == nil {
						_, err = db.SaveAttempt(b.Context(), "", store.MadeAttempt{
							Event: event, Attempt: studio.Attempt{Number: 1, At: noon(), Status: 200}, Outcome: store.Outcome{State: studio.EventDelivered},
						})
					}
					if err != nil {
						b.Error(err)
					}
				}
			}
			b.Run("one", func(b *testing.B) {
				b.ReportAllocs()
				for one := start(b); b.Loop(); {
					one()
				}
			})
			b.Run("many", func(b *testing.B) {
				b.ReportAllocs()
				b.SetParallelism(8)
				b.RunParallel(func(pb *testing.PB) {
					for one := start(b); pb.Next(); {
						one()
					}
				})
			})
		})
	}
}
