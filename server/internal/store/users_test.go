package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// Each user who is not deleted is on exactly one page.
func TestStore_Users_arePaginated(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		for i := range 12 {
			check(t, db.CreateUser(t.Context(), studio.User{ID: fmt.Sprintf("u%02d", i), Email: fmt.Sprintf("u%d@example.com", i), CreatedAt: noon()}))
		}
		check(t, deleteUser(t, db, "u05", noon()))
		check(t, db.SetRole(t.Context(), "u03", studio.Operator))
		s := subject("s1", 0)
		s.UserID, s.RenderAt = "u03", noon()
		create(t, db, s)
		var seen []string
		for below := ""; ; below = seen[len(seen)-1] {
			page := try(db.Users(t.Context(), store.UserFilter{}, below, 5))(t)
			for _, u := range page {
				seen = append(seen, u.ID)
				if operator := u.ID == "u03"; operator != (u.Role == studio.Operator) || operator != (u.InProgress == 1) || !u.CreatedAt.Equal(noon()) {
					t.Errorf("%+v", u)
				}
			}
			if len(page) < 5 {
				break
			}
		}
		if want := []string{"u11", "u10", "u09", "u08", "u07", "u06", "u04", "u03", "u02", "u01", "u00"}; !slices.Equal(seen, want) {
			t.Errorf("the users are %v", seen)
		}
		found := try(db.Users(t.Context(), store.UserFilter{Email: "u3@example.com"}, "", 5))(t)
		if len(found) != 1 || found[0].ID != "u03" {
			t.Errorf("found %+v", found)
		}
	})
}

// Two operators who remove each other at the same time leave one, and an act.
func TestOperators_areNeverAllRemoved(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		operators := []string{"0", ""}
		check(t, db.CreateUser(t.Context(), studio.User{ID: "0", Email: "0", CreatedAt: noon(), Role: studio.Operator}))
		for i := range 10 {
			operators[1] = fmt.Sprint(i + 1)
			check(t, db.CreateUser(t.Context(), studio.User{ID: operators[1], Email: operators[1], CreatedAt: noon(), Role: studio.Operator}))
			demoted := make(chan error)
			to := func(id string) context.Context {
				return db.WithAct(t.Context(), studio.Act{ID: id, At: noon(), Target: id})
			}
			go func() { demoted <- db.SetRole(to(operators[0]), operators[0], studio.NoRole) }()
			disabled := db.SetDisabled(to(operators[1]), operators[1], noon(), noon())
			if first := <-demoted; errors.Is(first, studio.ErrLastOperator) == errors.Is(disabled, studio.ErrLastOperator) {
				t.Fatalf("round %d: %v, %v", i, first, disabled)
			}
			removed, left := operators[0], operators[1]
			if disabled == nil {
				removed, left = left, removed
			}
			acts := try(db.Acts(t.Context(), "", 2*i+2))(t)
			if len(acts) != i+1 || !slices.ContainsFunc(acts, func(act studio.Act) bool { return act.Target == removed }) {
				t.Fatalf("round %d: %s was removed, and the acts are %+v", i, removed, acts)
			}
			operators[0] = left
		}
	})
}

func TestActs_areKeptForAYear(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		check(t, db.AddAct(t.Context(), studio.Act{ID: "a", At: noon(), By: "olga@example.com", Action: "invited", Target: "bob@example.com"}))
		for after, want := range []int{1, 0} {
			check(t, db.Prune(t.Context(), noon().Add(365*24*time.Hour+time.Duration(after)*time.Second)))
			if acts, err := db.Acts(t.Context(), "", 2); err != nil || len(acts) != want {
				t.Errorf("%d s after a year, there are %d acts, want %d (%v)", after, len(acts), want, err)
			}
		}
	})
}
