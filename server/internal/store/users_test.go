package store_test

import (
	"fmt"
	"slices"
	"testing"

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
