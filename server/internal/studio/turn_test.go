package studio_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// served lets callers wait for the one turn, each a second after the last, and returns in which order
// they get it, with "!" behind those that are sent away.
func served(t *testing.T, most int, callers ...string) (order []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		turns := studio.NewTurns(most)
		finish, err := turns.Take(t.Context(), "somebody", false)
		check(t, err)
		results := make(chan string, len(callers))
		for _, caller := range callers {
			go func() {
				known := caller[0] == '+'
				done, err := turns.Take(t.Context(), caller, known)
				if err != nil {
					wantError(t, err, studio.ErrBusy)
					caller += "!"
				}
				results <- caller
				if err == nil {
					done()
				}
			}()
			synctest.Wait()
		}
		finish()
		finish() // does nothing
		for range callers {
			order = append(order, <-results)
		}
	})
	return order
}

func TestTurns_goToWhoIsKnownAndThenToAddressesInTurn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		most          int
		callers, want []string
	}{
		{9, []string{"a", "a", "a", "b", "+c", "b", "d"}, []string{"+c", "a", "b", "d", "a", "b", "a"}},
		{2, []string{"a", "a", "a"}, []string{"a!", "a", "a"}},
		{2, []string{"a", "a", "b"}, []string{"a!", "a", "b"}}, // the second of a has more company
		{2, []string{"a", "a", "+b", "+b", "+b"}, []string{"+b!", "+b", "+b", "a", "a"}},
		{2, []string{"a", "b", "c"}, []string{"c!", "a", "b"}},
	} {
		if got := served(t, test.most, test.callers...); !slices.Equal(got, test.want) {
			t.Errorf("%d may wait: %v get their turns as %v, want %v", test.most, test.callers, got, test.want)
		}
	}
}

func TestTurns_areNotLostByWhoGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := studio.NewTurns(10)
		for i := range 10 {
			finish, err := turns.Take(t.Context(), "a", false)
			check(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			go func() { // in the same moment
				time.Sleep(time.Second)
				finish()
			}()
			if done, err := turns.Take(ctx, fmt.Sprint(i), i%2 == 0); err == nil {
				done()
			}
			cancel()
			synctest.Wait()
		}
	})
}
