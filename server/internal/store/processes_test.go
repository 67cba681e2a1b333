package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// Renderers and Deliverers list processes that hold work and have a valid lease.
func TestStore_listsActiveProcesses(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		check(t, db.CreateUser(t.Context(), studio.User{ID: "ada", Email: "ada", CreatedAt: noon()}))
		for i := range 3 {
			s := subject(fmt.Sprint(i), 0)
			s.UserID, s.RenderAt = "ada", noon()
			create(t, db, s)
		}
		_, err := db.ClaimRenderings(t.Context(), "one", noon(), 2)
		check(t, err)
		renderers, err := db.Renderers(t.Context())
		check(t, err)
		if len(renderers) != 1 || renderers[0].ID != "one" || renderers[0].Has != 2 || renderers[0].Seen > store.RenderLease {
			t.Errorf("the renderers are %+v", renderers)
		}
		for i := range 3 {
			check(t, db.SaveBreaker(t.Context(), store.Breaker{Origin: fmt.Sprint("https://", i), Until: time.Now().Add(time.Hour * time.Duration(2*i-1))}))
		}
		open, err := db.OpenBreakers(t.Context(), "https://1", 5)
		check(t, err)
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
		_, err = holder.Renew(t.Context(), true)
		check(t, err)
		deliverers, err := db.Deliverers(t.Context())
		check(t, err)
		if len(deliverers) != 1 || deliverers[0].ID != holder.ID || deliverers[0].Has != store.Lanes {
			t.Errorf("the deliverers are %+v", deliverers)
		}
		check(t, holder.ReleaseAll(t.Context()))
	})
}
