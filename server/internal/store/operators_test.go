package store_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// Two operators who remove each other at the same time leave one.
func TestOperators_areNeverAllRemoved(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		for i := range 10 {
			operators := []string{fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i)}
			for _, id := range operators {
				check(t, db.CreateUser(t.Context(), studio.User{ID: id, Email: id, CreatedAt: noon()}))
				check(t, db.SetRole(t.Context(), id, studio.Operator))
			}
			demoted := make(chan error)
			go func() { demoted <- db.Demote(t.Context(), operators[0]) }()
			disabled := db.SetDisabled(t.Context(), operators[1], noon(), noon())
			if first := <-demoted; errors.Is(first, studio.ErrLastOperator) == errors.Is(disabled, studio.ErrLastOperator) {
				t.Fatalf("round %d: %v, %v", i, first, disabled)
			}
			for _, id := range operators {
				check(t, db.SetRole(t.Context(), id, studio.NoRole))
			}
		}
	})
}
