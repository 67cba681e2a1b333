package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// line is where the events of tests go.
func line(origin int) store.Line {
	return store.Line{UserID: "ada", Origin: fmt.Sprintf("https://%d.example.com", origin)}
}

func TestStore_DueLines_hasEachWithItsFirst(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		for i, origin := range []int{1, 2, 1, 3} {
			s := subject(fmt.Sprint(i), 1)
			s.WebhookURL = line(origin).Origin + "/hooks"
			s.Events[0].CreatedAt = noon().Add(time.Duration(-i) * time.Hour)
			_, err := db.CreateSubject(t.Context(), s, studio.IdempotencyKey{})
			check(t, err)
		}
		next, err := db.NextDelivery(t.Context(), "3")
		check(t, err)
		check(t, recordAttempt(t.Context(), db, next.Event, store.Attempt{At: noon()}, store.Outcome{State: store.Delivered}))
		lines, err := db.DueLines(t.Context(), nil)
		check(t, err)
		want := []store.LineDue{{Line: line(1), At: noon().Add(-2 * time.Hour)}, {Line: line(2), At: noon().Add(-time.Hour)}}
		slices.SortFunc(lines, func(a, b store.LineDue) int { return a.At.Compare(b.At) })
		if !slices.Equal(lines, want) {
			t.Errorf("due is %v, want %v", lines, want)
		}
		if db.Pool() != nil {
			lane := store.Lane(line(1).Origin)
			lines, err := db.DueLines(t.Context(), []int{lane})
			check(t, err)
			if len(lines) != 1 || lines[0].Line != line(1) {
				t.Errorf("in the lane %d is due %v", lane, lines)
			}
		}
	})
}

func TestStore_Deliveries_hasTheFirstEventOfEachSubjectEarliestFirst(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		for i := range 3 {
			s := subject(fmt.Sprint(i), 2)
			s.WebhookURL = line(i%2).Origin + "/hooks"
			s.Events[0].CreatedAt = noon().Add(time.Duration(-i) * time.Hour)
			_, err := db.CreateSubject(t.Context(), s, studio.IdempotencyKey{})
			check(t, err)
		}
		got, err := db.Deliveries(t.Context(), []store.Want{{Line: line(0), Limit: 5}, {Line: line(2), Limit: 5}, {Line: line(1), Limit: 1}})
		check(t, err)
		var ids [][]string
		for _, deliveries := range got {
			var of []string
			for _, d := range deliveries {
				of = append(of, d.Event.ID)
			}
			ids = append(ids, of)
		}
		if want := "[[2-1 0-1] [] [1-1]]"; fmt.Sprint(ids) != want {
			t.Errorf("deliveries are %v, want %s", ids, want)
		}
	})
}
