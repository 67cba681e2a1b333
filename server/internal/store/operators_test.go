package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// Two operators who remove each other at the same time leave one, and an act.
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
			to := func(id string) context.Context {
				return db.WithAct(t.Context(), studio.Act{ID: id, At: noon(), Target: id})
			}
			go func() { demoted <- db.Demote(to(operators[0]), operators[0]) }()
			disabled := db.SetDisabled(to(operators[1]), operators[1], noon(), noon())
			if first := <-demoted; errors.Is(first, studio.ErrLastOperator) == errors.Is(disabled, studio.ErrLastOperator) {
				t.Fatalf("round %d: %v, %v", i, first, disabled)
			}
			removed := operators[0]
			if disabled == nil {
				removed = operators[1]
			}
			acts, err := db.Acts(t.Context(), "", 2*i+2)
			check(t, err)
			if len(acts) != i+1 || !slices.ContainsFunc(acts, func(act studio.Act) bool { return act.Target == removed }) {
				t.Fatalf("round %d: %s was removed, and the acts are %+v", i, removed, acts)
			}
			for _, id := range operators {
				check(t, db.SetRole(t.Context(), id, studio.NoRole))
			}
		}
	})
}
